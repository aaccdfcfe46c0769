import { existsSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../migrate/migrate.ts';
import { makeDatabase } from '../scripts/stack/roles.ts';
import { softly } from '../scripts/stack/step_reporter.ts';
import { testCluster } from '../scripts/stack/test_cluster.ts';
import { cpuSeconds } from './cluster.ts';
import { listed } from './payload.ts';

/**
 * Compares plain tasks with this checkout's sql/ and with another one, for example of an earlier commit. pgbench counts
 * tasks per second over eight connections, or as many as are given. The CPU time of PostgreSQL for a task is read from
 * /proc. The windows of both alternate on one cluster, and the output has the medians of the windows, and of the ratios
 * of each round. One connection varies least.
 */
const [otherSql = '', secondsGiven = '2', roundsGiven = '5', connections = '8', only = ''] =
  process.argv.slice(2);
if (!existsSync(join(otherSql, 'migrations'))) {
  console.error(
    'usage: npm run measure:beside -- SQL_DIRECTORY [seconds of a window] [rounds] [connections] [part of a case]\n' +
      'For the last release: git worktree add ../before TAG, then use ../before/sql.',
  );
  process.exit(2);
}
const seconds = Number(secondsGiven);
const rounds = Number(roundsGiven);

const payload = '{"user": 12345, "template": "welcome"}';
const tasks = (count: number) =>
  `'[${Array(count).fill(`{"payload": ${payload}}`).join(', ')}]'::jsonb`;
/** As listed() says, the JSON is parsed at each call. */
function enqueueOf(verb: string, count: number, item: string, type: string): string {
  const { set, text } = listed(count, item, ['[', ']']);
  return `${set}\nselect cardinality(tock.${verb}('q', ${text}::${type}));\n`;
}
const enqueue = (count: number) => enqueueOf('enqueue', count, `{"payload": ${payload}}`, 'jsonb');
const cycle = (count: number) =>
  `select lease, id from tock.claim('q', null, ${count}, null, null, true) \\aset\n` +
  'select * from tock.complete(:lease::uuid);\n';

type Case = {
  name: string;
  batch: number;
  script: string;
  ready?: number;
  needs?: string;
  or?: string;
};

const cases: Case[] = [
  { name: 'enqueue 1', batch: 1, script: enqueue(1) },
  { name: 'enqueue 100', batch: 100, script: enqueue(100) },
  {
    name: 'enqueue_payloads 100',
    batch: 100,
    script: enqueueOf('enqueue_payloads', 100, payload, 'json'),
    needs: 'enqueue_payloads',
    or: enqueue(100),
  },
  { name: 'claim + complete 1', batch: 1, script: cycle(1), ready: 10_000 },
  { name: 'claim + complete 100', batch: 100, script: cycle(100), ready: 400_000 },
  {
    name: 'empty claim',
    batch: 1,
    script: "select * from tock.claim('none', null, 1, null, null, true);\n",
  },
];
const median = (all: number[]) =>
  [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] as number;

const testbed = await testCluster('cron_home', softly);
const { cluster, passwords } = testbed;
const { host } = cluster;

async function open(name: string, directory?: string) {
  await makeDatabase(cluster.url(), name);
  const url = new URL(cluster.url(name));
  url.username = 'tock';
  url.password = passwords.owner;
  await migrate(url.href, { directory });
  const client = new pg.Client({ connectionString: url.href });
  // After a failure the cluster may stop before this client has ended.
  client.on('error', () => {});
  await client.connect();
  return { url: url.href, client };
}
type Side = Awaited<ReturnType<typeof open>>;

async function fill({ client }: Side, ready: number): Promise<void> {
  const text = 'select ready from tock.queue_stats($1)';
  const [row] = (await client.query(text, ['q'])).rows;
  for (let remaining = ready - Number(row?.ready ?? 0); remaining > 0; remaining -= 5000) {
    await client.query(`select cardinality(tock.enqueue('q', ${tasks(5000)}))`);
  }
  await client.query('vacuum analyze');
}

/** Tasks per second, and microseconds of PostgreSQL's CPU for a task. */
async function figuresOf({ url, client }: Side, { batch, script, needs, or = script }: Case) {
  const has = 'select exists (select from pg_proc where proname = $1)';
  const isThere = !needs || (await client.query(has, [needs])).rows[0].exists;
  const file = `${host.folder}/beside.sql`;
  await host.write(file, isThere ? script : or);
  const options = [
    '-n',
    '-M',
    'prepared',
    '-c',
    connections,
    '-j',
    '2',
    '-T',
    String(seconds),
    '-f',
    file,
  ];
  const before = await cpuSeconds(testbed);
  const output = await host.run([`${host.bin}/pgbench`, ...options, url]);
  const cpu = (await cpuSeconds(testbed)) - before;
  const calls = Number(/transactions actually processed: (\d+)/.exec(output)?.[1]);
  const rate = Number(/tps = ([\d.]+)/.exec(output)?.[1]) * batch;
  return { rate, cpu: (cpu * 1e6) / (calls * batch) };
}

const columns = [
  ['rate', 'tasks/s', 0],
  ['cpu', 'µs CPU', 2],
] as const;

try {
  const sides = [await open('before', otherSql), await open('now')] as const;
  for (const one of cases.filter(({ name }) => name.includes(only))) {
    const { name, ready } = one;
    const sets: Awaited<ReturnType<typeof figuresOf>>[][] = [[], []];
    for (let round = -1; round < rounds; round++) {
      for (const n of round % 2 === 0 ? [0, 1] : [1, 0]) {
        const side = sides[n] as Side;
        if (ready) await fill(side, ready * seconds);
        const figures = await figuresOf(side, one);
        if (round >= 0) sets[n]?.push(figures);
      }
    }
    for (const [key, unit, digits] of columns) {
      const [before = [], now = []] = sets.map((set) => set.map((figures) => figures[key]));
      const ratio = median(now.map((value, round) => value / (before[round] as number)));
      const [old, current] = [before, now].map((all) => median(all).toFixed(digits).padStart(9));
      const medians = `before ${old}  now ${current}  ratio ${ratio.toFixed(3)}`;
      console.log(`${name.padEnd(22)} ${unit.padEnd(8)} ${medians}`);
    }
  }
  for (const { client } of sides) await client.end();
} finally {
  await testbed.close();
}
