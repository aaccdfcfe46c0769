import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../../migrate/migrate.ts';
import { makeDatabase } from '../../scripts/stack/roles.ts';
import { softly } from '../../scripts/stack/say.ts';
import { testCluster } from '../../test/cluster.ts';

/**
 * What a key costs: a backend's CPU time of the HTTP door's calls, with this checkout's sql/ and with another, say of an
 * earlier commit, in turns in one run, the lower quartile of its windows; and with keys that have a rate and a tenant. Linux, and a server of its own.
 */
const [other = '', callsGiven = '400', roundsGiven = '15'] = process.argv.slice(2);
if (!existsSync(join(other, 'migrations'))) {
  console.error('usage: npm run measure:keys -- SQL_DIRECTORY [calls of a window] [rounds]');
  process.exit(2);
}
const calls = Number(callsGiven);
const rounds = Number(roundsGiven);

const enqueue = {
  name: 'enqueue',
  text: 'select tock.http_enqueue(p_key => $1, p_queue => $2, p_body => $3, p_request_id => $4) as body',
};
const claim = {
  name: 'claim',
  text: `select tock.http_claimed(p_queue => $2, p_runs => array(
  select c from tock.claim(p_queue => $2, p_worker => $3, p_limit => 1, p_alone => true) as c)) as body
where tock.authorize(p_key => $1, p_scope => 'claim', p_queue => $2)`,
};
const complete = {
  name: 'complete',
  text: "select tock.http_complete(p_key => $1, p_lease => $2, p_body => '{}') as body",
};

/** Whoever else is on the machine makes a call dearer, and none cheaper. */
const quartile = (all: number[]) =>
  [...all].sort((a, b) => a - b)[Math.floor(all.length / 4)] as number;

const made = await testCluster('cron_home', softly);
const { cluster, passwords } = made;

async function open(name: string, directory?: string) {
  await makeDatabase(cluster.url(), name);
  const url = new URL(cluster.url(name));
  url.username = 'tock';
  url.password = passwords.owner;
  await migrate(url.href, { directory });
  const client = new pg.Client({ connectionString: url.href });
  client.on('error', () => {});
  await client.connect();
  const { rows } = await client.query('select pg_backend_pid() as pid');
  /** Microseconds on a processor. */
  const cpu = () =>
    Number(readFileSync(`/proc/${rows[0].pid}/schedstat`, 'utf8').split(' ')[0]) / 1000;
  return { client, cpu };
}
type Side = Awaited<ReturnType<typeof open>>;

const scopes = "array['enqueue', 'claim']";
const keyOf = async ({ client }: Side, options: string) =>
  (await client.query(`select key from tock.create_key('k', ${options})`)).rows[0].key as string;

/** Microseconds of CPU a call: of one task enqueued, and of one claimed and completed. */
async function windowOf({ client, cpu }: Side, key: string): Promise<number[]> {
  const body = '{"payload": {"user": 12345, "template": "welcome"}}';
  let from = cpu();
  for (let n = 0; n < calls; n++) {
    await client.query({ ...enqueue, values: [key, 'q', body, null] });
  }
  const enqueued = (cpu() - from) / calls;
  from = cpu();
  for (let n = 0; n < calls; n++) {
    const { rows } = await client.query({ ...claim, values: [key, 'q', 'w'] });
    const lease = JSON.parse(rows[0].body).lease as string;
    await client.query({ ...complete, values: [key, lease] });
  }
  return [enqueued, (cpu() - from) / calls];
}

try {
  // Each has a database of its own, and so as much behind it as the others.
  const [before, now, rated] = [
    await open('before', other),
    await open('now'),
    await open('rated'),
  ];
  const sides: { name: string; side: Side; key: string; figures: number[][] }[] = [];
  const add = async (name: string, side: Side, options: string) =>
    sides.push({ name, side, key: await keyOf(side, options), figures: [] });
  await add('before', before, scopes);
  await add('now', now, scopes);
  await add(
    'now, with a rate',
    rated,
    `${scopes}, p_rate_limit => 1000000, p_rate_seconds => 3600`,
  );
  for (let round = -1; round < rounds; round++) {
    for (const one of round % 2 === 0 ? sides : sides.toReversed()) {
      const figures = await windowOf(one.side, one.key);
      if (round >= 0) one.figures.push(figures);
    }
  }
  for (const [at, what] of ['enqueue 1', 'claim + complete 1'].entries()) {
    for (const { name, figures } of sides) {
      const [here, there = here] = [figures, sides[0]?.figures].map((all) =>
        quartile((all ?? []).map((one) => one[at] as number)),
      );
      const ratio = (here as number) / (there as number);
      console.log(
        `${what.padEnd(20)} ${name.padEnd(18)} ${here?.toFixed(0).padStart(6)} µs  ratio ${ratio.toFixed(3)}`,
      );
    }
  }
  for (const { client } of [before, now, rated]) await client.end();
} finally {
  await made.close();
}
