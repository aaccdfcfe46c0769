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
    || coalesce(E'\\n  with (' || array_to_string(c.reloptions, ', ') || ')', '') as text
  from pg_class c
  where c.relnamespace = 'tock'::regnamespace and c.relkind in ('r', 'p', 'v') and ($1 or not c.relispartition)
  order by c.relname`;

const others = `
  select format('sequence tock.%I %s to %s cache %s', s.sequencename, s.min_value, s.max_value, s.cache_size) as text
    from pg_sequences s where s.schemaname = 'tock'
  union all
  select format('type tock.%I (%s)', t.typname, (
      select string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum)
      from pg_attribute a where a.attrelid = t.typrelid))
    from pg_type t join pg_class c on c.oid = t.typrelid and c.relkind = 'c'
    where t.typnamespace = 'tock'::regnamespace
  order by 1`;

const routines = `
  select format(E'function tock.%s(%s)\\n  returns %s\\n  -- %s%s%s', p.proname, pg_get_function_arguments(p.oid),
    pg_get_function_result(p.oid), coalesce(obj_description(p.oid, 'pg_proc'), 'no comment'),
    case when has_function_privilege('tock_edge', p.oid, 'execute') then E'\\n  -- for tock_edge' else '' end,
    case when $1 then E'\\n' || pg_get_functiondef(p.oid) else '' end) as text
  from pg_proc p where p.pronamespace = 'tock'::regnamespace order by p.proname`;

/** The schema as text, the same on every supported PostgreSQL; bodies add definitions and partitions. */
export async function describeSchema(client: pg.Client, bodies = false): Promise<string> {
  const parts = [
    await client.query(tables, [bodies]),
    await client.query(others),
    await client.query(routines, [bodies]),
  ];
  const text = parts.map(({ rows }) => rows.map((row) => row.text).join('\n\n')).join('\n\n');
  return `-- What sql/ comes to, for readers: generated, see CONTRIBUTING.md. Not meant to be run.\n\n${text}\n`;
}
