import pg from 'pg';
import { softly } from '../../scripts/stack/say.ts';
import { prepare, testCluster } from '../../test/cluster.ts';

/** What a decision in ARCHITECTURE.md says it saves: calls a second over 8 connections, interleaved. */
const seconds = Number(process.argv[2] ?? 2);
const rounds = 3;
const payload = {
  user: 12345,
  template: 'welcome',
  to: 'someone@example.com',
  attempt_meta: { a: 1 },
};
const tasks = (count: number) => JSON.stringify(Array.from({ length: count }, () => ({ payload })));

type Client = pg.Client;
type Case = { name: string; tasks: number; call: (client: Client) => Promise<number> };

const enqueue = (count: number): Case => {
  const text = tasks(count);
  return {
    name: `enqueue ${count}`,
    tasks: count,
    call: async (client) => {
      await client.query({
        name: `e${count}`,
        text: 'select tock.enqueue($1, $2)',
        values: ['m', text],
      });
      return count;
    },
  };
};

const cycle = (count: number): Case => ({
  name: `claim + complete ${count}`,
  tasks: count,
  call: async (client) => {
    const { rows } = await client.query({
      name: `c${count}`,
      text: 'select lease, id, payload from tock.claim(p_queue => $1, p_limit => $2, p_alone => true)',
      values: ['m', count],
    });
    if (rows.length === 0) return 0;
    await client.query({
      name: 'd',
      text: 'select * from tock.complete($1)',
      values: [rows[0].lease],
    });
    return rows.length;
  },
});

async function rate(clients: Client[], { call, name }: Case): Promise<number> {
  const until = performance.now() + seconds * 1000;
  const each = async (client: Client) => {
    let done = 0;
    while (performance.now() < until) done += await call(client);
    return done;
  };
  const done = (await Promise.all(clients.map(each))).reduce((sum, count) => sum + count, 0);
  if (done === 0) throw new Error(`${name}: nothing was left to claim, the window ran dry`);
  return done / seconds;
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

const made = await testCluster('measure', softly);
const url = made.cluster.url('measure');
const clients: Client[] = [];
try {
  const owner = new URL(url);
  owner.username = 'tock';
  owner.password = made.passwords.owner;
  await prepare(owner.href, made.passwords.edge);
  for (let i = 0; i < 8; i++) {
    const client = new pg.Client({ connectionString: owner.href });
    await client.connect();
    clients.push(client);
  }
  const [first] = clients as [Client];
  const none = (signature: string, returns: string, answer: string) =>
    `create or replace function tock.${signature} returns ${returns}
       language plpgsql volatile as $$ begin return ${answer}; end $$`;
  const hot = async (on: boolean) => {
    if (on) return void (await first.query('select tock.write_hot()'));
    const names = `p_queue text, p_seed integer`;
    await first.query(
      [
        none('hot_epoch()', 'integer', 'null').replace('volatile', 'stable'),
        none(
          `look_hot(${names}, p_seen integer[], p_limit integer, p_alone boolean)`,
          'tock.look',
          'null',
        ),
        none(
          `claim_one_hot(${names}, p_worker text, p_seconds integer, p_alone boolean)`,
          'tock.claimed',
          'null',
        ),
        none('end_hot(p_token uuid, p_epoch integer)', 'integer', '-1'),
      ].join(';'),
    );
  };
  await rate(clients, enqueue(1000));
  await first.query('analyze');
  for (const item of [enqueue(1), enqueue(100), enqueue(1000), cycle(1), cycle(100), cycle(1000)]) {
    const kept: number[] = [];
    const planned: number[] = [];
    for (let round = 0; round < rounds; round++) {
      await hot(true);
      if (item.name.startsWith('claim')) await rate(clients, enqueue(1000));
      kept.push(await rate(clients, item));
      if (!item.name.startsWith('claim')) continue;
      await hot(false);
      planned.push(await rate(clients, item));
    }
    const line = `${item.name.padEnd(24)}${median(kept).toFixed(0).padStart(9)} tasks/s`;
    const ratio = median(kept) / median(planned);
    const beside = `, planned at each call ${median(planned).toFixed(0)}, ratio ${ratio.toFixed(2)}`;
    console.log(planned.length > 0 ? line + beside : line);
  }
} finally {
  for (const client of clients) await client.end();
  await made.close();
}
