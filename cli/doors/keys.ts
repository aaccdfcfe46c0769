import type pg from 'pg';
import { ask } from './ask.ts';

export type Key = {
  prefix: string;
  name: string;
  scopes: string[];
  queues: string[] | null;
  tenants: string[] | null;
  rate_limit: number | null;
  rate_seconds: number | null;
  created_at: string;
  expires_at: string | null;
  replaces: string | null;
};
export type NewKey = Key & { key: string };
export type ListedKey = Key & {
  revoked_at: string | null;
  replaced_by: string | null;
  last_used_at: string | null;
  uses: number;
};
/** What is left out is unlimited. */
export type AskedKey = Pick<Key, 'name' | 'scopes'> &
  Partial<Pick<Key, 'queues' | 'tenants' | 'rate_limit' | 'rate_seconds'>> & {
    expires_in_seconds?: number | null;
  };

export type Act = {
  number: string;
  at: string;
  role: string;
  key: string | null;
  key_name: string | null;
  verb: string;
  object: string;
  detail: object;
};
export type ActFilter = {
  key?: string | undefined;
  verb?: string | undefined;
  object?: string | undefined;
  before?: string | undefined;
  limit: number;
};

/** Null where there is no key with the prefix. */
export type Keys = {
  createKey(asked: AskedKey): Promise<NewKey>;
  keys(): Promise<ListedKey[]>;
  rotateKey(prefix: string, overlapSeconds: number): Promise<NewKey | null>;
  /** `changes` as JSON text. */
  changeKey(prefix: string, changes: string): Promise<ListedKey | null>;
  revokeKey(prefix: string): Promise<boolean>;
  acts(filter: ActFilter): Promise<Act[]>;
};

type Call = {
  found<T>(route: string): Promise<T>;
  foundOrNull<T>(route: string, body?: string): Promise<T | null>;
  /** Not again where the answer was lost. */
  once<T>(route: string, body: string): Promise<T>;
  query(options: Record<string, unknown>): string;
};

export function httpKeys({ found, foundOrNull, once, query }: Call): Keys {
  const at = (prefix: string) => `/v1/keys/${encodeURIComponent(prefix)}`;
  return {
    createKey: (asked) => once('POST /v1/keys', JSON.stringify(asked)),
    keys: async () => (await found<{ keys: ListedKey[] }>('GET /v1/keys')).keys,
    rotateKey: (prefix, overlap_seconds) =>
      foundOrNull(`POST ${at(prefix)}/rotate`, JSON.stringify({ overlap_seconds })),
    changeKey: (prefix, changes) => foundOrNull(`PATCH ${at(prefix)}`, changes),
    revokeKey: async (prefix) => (await foundOrNull(`DELETE ${at(prefix)}`)) !== null,
    acts: async (filter) => (await found<{ acts: Act[] }>(`GET /v1/acts?${query(filter)}`)).acts,
  };
}

const base =
  'prefix, name, scopes, queues, tenants, rate_limit, rate_seconds, created_at, expires_at, replaces';
const made = `key, ${base}`;
const listed = `${base}, revoked_at, replaced_by, last_used_at, uses`;

export function sqlKeys(client: pg.Client): Keys {
  /** As JSON, so that both doors say the same. */
  const all = async <T>(columns: string, verb: string, values: unknown[] = []) => {
    const text = `select row_to_json(v) as row from (select ${columns} from tock.${verb}) v`;
    return (await ask<{ row: T }>(client, text, values)).map(({ row }) => row);
  };
  const one = async <T>(...asked: Parameters<typeof all>) => (await all<T>(...asked))[0] ?? null;
  return {
    createKey: async ({ name, scopes, queues, tenants, ...limits }) =>
      (await one<NewKey>(
        made,
        `create_key(p_name => $1, p_scopes => $2, p_queues => $3, p_tenants => $4, p_expires_in_seconds => $5,
           p_rate_limit => $6, p_rate_seconds => $7)`,
        [
          name,
          scopes,
          queues,
          tenants,
          limits.expires_in_seconds,
          limits.rate_limit,
          limits.rate_seconds,
        ],
      )) as NewKey,
    keys: () => all(listed, 'keys_list()'),
    rotateKey: (prefix, overlap) =>
      one(made, 'rotate_key(p_prefix => $1, p_overlap_seconds => $2)', [prefix, overlap]),
    changeKey: (prefix, changes) =>
      one(listed, 'update_key(p_prefix => $1, p_changes => $2)', [prefix, changes]),
    async revokeKey(prefix) {
      const text = 'select tock.revoke_key(p_prefix => $1) as revoked';
      return (await ask<{ revoked: boolean }>(client, text, [prefix]))[0]?.revoked === true;
    },
    acts: ({ key, verb, object, before, limit }) =>
      all(
        'number::text, at, role, key, key_name, verb, object, detail',
        'acts(p_key => $1, p_verb => $2, p_object => $3, p_before => $4, p_limit => $5)',
        [key, verb, object, before, limit],
      ),
  };
}
