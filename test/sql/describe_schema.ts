import type pg from 'pg';

const tables = `
  select format(E'%s tock.%I%s\\n%s', case c.relkind when 'v' then 'view' else 'table' end, c.relname,
      case when c.relispartition then ' -- ' || pg_get_expr(c.relpartbound, c.oid)
        when c.relkind = 'p' then ' -- partition by ' || pg_get_partkeydef(c.oid) else '' end,
      (select string_agg(format('  %I %s%s%s', a.attname, format_type(a.atttypid, a.atttypmod),
          case when a.attnotnull then ' not null' else '' end,
          coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')), E'\\n' order by a.attnum)
        from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped))
    || coalesce((select E'\\n' || string_agg(format('  constraint %I %s', n.conname, pg_get_constraintdef(n.oid)),
          E'\\n' order by n.conname)
        from pg_constraint n where n.conrelid = c.oid and n.contype <> 'n'), '')
    || coalesce((select E'\\n' || string_agg('  ' || pg_get_indexdef(i.indexrelid), E'\\n' order by i.indexrelid::regclass::text)
        from pg_index i where i.indrelid = c.oid
          and not exists (select from pg_constraint n where n.conindid = i.indexrelid)), '')
    || coalesce(E'\\n  with (' || array_to_string(c.reloptions, ', ') || ')', '')
    || case when $1 then coalesce((select E'\\n' || string_agg(format('  -- %s: %s', coalesce(a.attname, 'table'), d.description),
          E'\\n' order by d.objsubid)
        from pg_description d left join pg_attribute a on a.attrelid = d.objoid and a.attnum = d.objsubid and d.objsubid > 0
        where d.objoid = c.oid and d.classoid = 'pg_class'::regclass), '') else '' end as text
  from pg_class c
  where c.relnamespace = 'tock'::regnamespace and c.relkind in ('r', 'p', 'v') and ($1 or not c.relispartition)
  order by c.relname`;

const others = `
  select format('sequence tock.%I %s to %s cache %s%s', s.sequencename, s.min_value, s.max_value, s.cache_size,
      case when $1 then format(' start %s increment %s cycle %s as %s', s.start_value, s.increment_by, s.cycle, s.data_type)
        else '' end) as text
    -- without the sequences that each key has
    from pg_sequences s where s.schemaname = 'tock' and s.sequencename !~ '^(uses|rate)_[0-9a-f]{8}$'
  union all
  select format('type tock.%I (%s)', t.typname, (
      select string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum)
      from pg_attribute a where a.attrelid = t.typrelid))
    from pg_type t join pg_class c on c.oid = t.typrelid and c.relkind = 'c'
    where t.typnamespace = 'tock'::regnamespace
  order by 1`;

const callers = `(
    select string_agg(distinct r.role, ', ' order by r.role)
    from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
    cross join lateral (select case a.grantee when 0 then 'everybody' else pg_get_userbyid(a.grantee) end as role) r
    where a.grantee <> p.proowner)`;

const routines = `
  select format(E'function tock.%s(%s)\\n  returns %s\\n  -- %s%s%s', p.proname, pg_get_function_arguments(p.oid),
    pg_get_function_result(p.oid), coalesce(obj_description(p.oid, 'pg_proc'), 'no comment'),
    coalesce(E'\\n  -- for ' || ${callers}, ''),
    case when $1 then E'\\n' || regexp_replace(pg_get_functiondef(p.oid), '\\m' || 'tock'::regnamespace::oid::text || '\\M', 'OID', 'g') else '' end) as text
  from pg_proc p
  where p.pronamespace = 'tock'::regnamespace and ($1 or p.proname !~ '_[0-9]+$' or p.proname ~ '_1$')
  order by p.proname, p.pronargs, pg_get_function_identity_arguments(p.oid) collate "C"`;

// Rights on functions stand with the functions. Here also default privileges; the owner's own rights are left out.
const rights = `
  select format('%s for %s: %s', o.name, coalesce(r.rolname, 'everybody'),
    string_agg(a.privilege_type || case when a.is_grantable then ' and to grant it' else '' end, ', ' order by a.privilege_type)) as text
  from (
    select 'schema tock' as name, n.nspacl as acl, n.nspowner as owner from pg_namespace n where n.nspname = 'tock'
    union all
    select 'tock.' || c.relname, c.relacl, c.relowner from pg_class c where c.relnamespace = 'tock'::regnamespace
    union all
    select format('tock.%s.%s', c.relname, t.attname), t.attacl, c.relowner
      from pg_class c join pg_attribute t on t.attrelid = c.oid where c.relnamespace = 'tock'::regnamespace
    union all
    select 'type tock.' || t.typname, t.typacl, t.typowner from pg_type t where t.typnamespace = 'tock'::regnamespace
    union all
    select 'default ' || d.defaclobjtype::text, d.defaclacl, d.defaclrole from pg_default_acl d) o
  cross join lateral aclexplode(o.acl) a left join pg_roles r on r.oid = a.grantee
  where a.grantee <> o.owner
  group by o.name, r.rolname order by 1`;

/**
 * The schema as text, equal on every supported PostgreSQL. `whole` adds function bodies, partitions, the comments
 * of tables and the rights on all but functions.
 */
export async function describeSchema(client: pg.Client, whole = false): Promise<string> {
  const parts = [
    await client.query(tables, [whole]),
    await client.query(others, [whole]),
    await client.query(routines, [whole]),
    ...(whole ? [await client.query(rights)] : []),
  ];
  const text = parts.map(({ rows }) => rows.map((row) => row.text).join('\n\n')).join('\n\n');
  return `-- What sql/ comes to, for readers: generated, see CONTRIBUTING.md. Not meant to be run.\n\n${text}\n`;
}
