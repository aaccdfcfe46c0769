import type pg from 'pg';
import { Failure } from './failure.ts';

export type Server = {
  version: number;
  standby: boolean;
  read_only: boolean;
  role: string;
  database: string;
  may_create_schema: boolean;
  /** Null if there is no schema tock. */
  owner: string | null;
  owned: boolean;
  recorded: boolean;
  holds: string | null;
  pid: number;
  /** True if every role of the cluster may connect. */
  open: boolean;
  citus: boolean;
};

const question = `
  select current_setting('server_version_num')::integer as version,
    pg_catalog.pg_is_in_recovery() as standby,
    current_setting('transaction_read_only') = 'on' as read_only,
    pg_catalog.quote_ident(current_user) as role,
    pg_catalog.quote_ident(current_database()) as database,
    pg_catalog.has_database_privilege(current_database(), 'create') as may_create_schema,
    pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(s.nspowner)) as owner,
    coalesce(pg_catalog.pg_has_role(s.nspowner, 'usage'), false) as owned,
    exists (select from pg_catalog.pg_class c
      where c.relnamespace = s.oid and c.relname = 'migrations') as recorded,
    (select min(c.relname) from pg_catalog.pg_class c
      where c.relnamespace = s.oid and c.relkind in ('r', 'p', 'v')) as holds,
    pg_catalog.pg_backend_pid() as pid,
    exists (select from pg_catalog.pg_database d
      cross join lateral pg_catalog.aclexplode(coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba))) a
      where d.datname = current_database() and a.grantee = 0 and a.privilege_type = 'CONNECT') as open,
    exists (select from pg_catalog.pg_extension where extname = 'citus') as citus
  from (select 1) one left join pg_catalog.pg_namespace s on s.nspname = 'tock'`;

export async function readServer(client: pg.Client): Promise<Server> {
  const { rows } = await client.query<Server>(question);
  return rows[0] as Server;
}

/** Refuses an unsuitable server before any statement waits for a lock. */
export function checkServer({ version, standby, read_only, database }: Server): void {
  if (version < 150000) {
    throw new Failure(
      `This is PostgreSQL ${Math.floor(version / 10000)}: Tock needs 15 or newer.`,
      'Upgrade the server, or set DATABASE_URL to a newer one.',
    );
  }
  if (standby) {
    throw new Failure(
      'This server is a standby, which is read-only.',
      'Set DATABASE_URL to the primary (target_session_attrs=read-write finds it).',
    );
  }
  if (read_only) {
    throw new Failure(
      `Database ${database} is set to read only (default_transaction_read_only).`,
      'Providers set this when the disk is full or the plan has ended: resolve that first.',
    );
  }
}

/** Refuses if a right is missing, and names the grant. It runs before and after the migrator takes its lock. */
export function checkRights(server: Server): void {
  const { role, database, owner, owned, may_create_schema, recorded, holds } = server;
  if (owner === null && !may_create_schema) {
    throw new Failure(
      `Role ${role} may not create the schema tock in database ${database}.`,
      `Have its owner run one of these, then migrate again:
  grant create on database ${database} to ${role};
  create schema tock authorization ${role};`,
    );
  }
  if (owner !== null && !owned) {
    throw new Failure(
      `The schema tock belongs to ${owner}, not to ${role}.`,
      `Migrate as ${owner}, or have it run: grant ${owner} to ${role};`,
    );
  }
  if (holds !== null && !recorded) {
    throw new Failure(
      `The schema tock already contains tables (${holds}), which no migration of Tock created.`,
      "If the schema is not Tock's, rename it (alter schema tock rename to ...), or use another database.",
    );
  }
}

/** The advice if every role may connect. Such a role can take the advisory locks of writers and block all enqueues. */
export const openToAll = (database: string) =>
  `Any role of this server may connect to database ${database}, and could then block Tock's writers.
To restrict access: revoke connect, temporary on database ${database} from public;
then for each role that uses it: grant connect on database ${database} to ...;`;
