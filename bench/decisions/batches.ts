import pg from 'pg';
import { migrate } from '../../migrate/migrate.ts';
import { makeDatabase } from '../../scripts/stack/roles.ts';
import { softly } from '../../scripts/stack/say.ts';
import { testCluster } from '../../test/cluster.ts';
import { alter, settings } from '../cluster.ts';
import { listed, payload } from '../payload.ts';
import { singleTable } from '../systems/single-table.ts';

/**
 * What an enqueue of a hundred could be at its best: tasks a second by pgbench over eight connections, in turns
 * in one run, and each way's rate to the single table's. The others find out that there are no options, and have no
 * streams, epochs or limits.
 */
const [secondsGiven = '2', roundsGiven = '7'] = process.argv.slice(2);
const batch = 100;

const functions = `
create table one_each (stream integer not null, position bigint not null, created_at timestamptz not null default now(),
  bytes integer not null, payload jsonb, primary key (stream, position));
create table packed (stream integer not null, position bigint not null, created_at timestamptz not null default now(),
  positions bigint[], sizes integer[], payloads jsonb[], primary key (stream, position));
alter table packed alter payloads set storage plain;
create sequence places;

create function parsed(p_tasks jsonb) returns bigint[] language plpgsql as $$
begin
  return array[jsonb_array_length(p_tasks)];
end $$;

create function as_rows(p_tasks jsonb) returns bigint[] language plpgsql as $$
declare
  v_stream integer := pg_backend_pid() % 8;
  v_ids bigint[];
begin
  if exists (select from jsonb_array_elements(p_tasks) t (task) where t.task - 'payload' <> '{}') then
    raise 'options';
  end if;
  with added as (
    insert into one_each (stream, position, bytes, payload)
    select v_stream, nextval('places'), coalesce(octet_length(g.payload::text), 0), g.payload
    from (select nullif(t.task -> 'payload', 'null') as payload from jsonb_array_elements(p_tasks) t (task) offset 0) g
    returning position)
  select array_agg(a.position << 20 | v_stream) into v_ids from added a;
  return v_ids;
end $$;

create function as_arrays(p_tasks jsonb) returns bigint[] language plpgsql as $$
declare
  v_stream integer := pg_backend_pid() % 8;
  v_count integer := jsonb_array_length(p_tasks);
  v_payloads jsonb[];
  v_sizes integer[];
  v_each integer;
  v_positions bigint[];
  v_plain boolean;
  v_ids bigint[];
begin
  select array_agg(t.task -> 'payload'), array_agg(octet_length((t.task -> 'payload')::text)), bool_and(t.task - 'payload' = '{}')
    into v_payloads, v_sizes, v_plain
  from jsonb_array_elements(p_tasks) t (task);
  if not v_plain then
    raise 'options';
  end if;
  -- as many as a page holds
  v_each := greatest(1, 7000 * v_count / (pg_column_size(v_payloads) + 20 * v_count));
  for v_n in 0 .. (v_count - 1) / v_each loop
    v_positions := array(select nextval('places') from generate_series(1, least(v_each, v_count - v_n * v_each)));
    insert into packed (stream, position, positions, sizes, payloads)
    values (v_stream, v_positions[cardinality(v_positions)], v_positions,
      v_sizes[v_n * v_each + 1 : (v_n + 1) * v_each], v_payloads[v_n * v_each + 1 : (v_n + 1) * v_each]);
    v_ids := v_ids || v_positions;
  end loop;
  return array(select p << 20 | v_stream from unnest(v_ids) p);
end $$;`;

const tasks = listed(batch, `{"payload": ${payload(100)}}`, ['[', ']']);
const call = (open: string) => `${tasks.set}\nselect ${open}${tasks.text}::jsonb);\n`;
const single = singleTable.enqueue({ batch, bytes: 100, queues: 1 } as never);

const ways: [name: string, script: string][] = [
  ['single table', (single as { script: string }).script],
  ['tock.enqueue', call("tock.enqueue('q', ")],
  ['a row each', call('as_rows(')],
  ['arrays in a row', call('as_arrays(')],
  ['only parsed', call('parsed(')],
];
const median = (all: number[]) =>
  [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] as number;

const made = await testCluster('cron_home', softly);
const { cluster, passwords } = made;
const { host } = cluster;
try {
  await alter(made, settings);
  await makeDatabase(cluster.url(), 'batches');
  const url = new URL(cluster.url('batches'));
  url.username = 'tock';
  url.password = passwords.owner;
  await migrate(url.href);
  const client = new pg.Client({ connectionString: url.href });
  // Of a cluster that is stopped beneath it, as something else has failed.
  client.on('error', () => {});
  await client.connect();
  await client.query(functions);
  await singleTable.prepare({ client, url: url.href } as never);
  const rates = new Map<string, number[]>(ways.map(([name]) => [name, []]));
  for (let round = -1; round < Number(roundsGiven); round++) {
    for (const [name, script] of ways) {
      const file = `${host.folder}/batches.sql`;
      await host.write(file, script);
      const options = [
        '-n',
        '-M',
        'prepared',
        '-c',
        '8',
        '-j',
        '2',
        '-T',
        secondsGiven,
        '-f',
        file,
      ];
      const out = await host.run([`${host.bin}/pgbench`, ...options, url.href]);
      if (round >= 0) rates.get(name)?.push(batch * Number(/tps = ([\d.]+)/.exec(out)?.[1]));
    }
  }
  const base = rates.get('single table') as number[];
  for (const [name, all] of rates) {
    const ratio = median(all.map((rate, round) => rate / (base[round] as number)));
    console.log(
      `${name.padEnd(16)} ${median(all).toFixed(0).padStart(9)} tasks/s  ratio ${ratio.toFixed(2)}`,
    );
  }
  await client.end();
} finally {
  await made.close();
}
