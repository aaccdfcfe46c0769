// A worker of the soak, a process of its own that may be killed at any time. It says what it was told,
// each before it goes on, as lines of JSON. usage: node worker.ts <name> <seed>, URLs in the environment
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { chosen, dice, now, pause, type Random } from './clock.ts';
import { codeOf } from './codes.ts';
import type { Given } from './ledger.ts';

const [name = '', seed = '1', queue = ''] = process.argv.slice(2);
const urls = [process.env.SOAK_URL ?? '', process.env.SOAK_POOLED_URL ?? ''];
let draining = false;

export type Word =
  | ['claimed', sent: number, lease: string, runs: Given[]]
  | ['tried', lease: string, numbers: number[]]
  | ['done', at: number, lease: string, numbers: number[]]
  | ['did', verb: string, times: number]
  | ['error', verb: string, code: string, message: string];

// Written to its end before the next step is taken.
const say = (word: Word) => writeSync(1, `${JSON.stringify(word)}\n`);
const did = (verb: string, times = 1) => say(['did', verb, times]);

type Row = {
  lease: string;
  id: string;
  run_id: string;
  attempt: number;
  payload: { n: number; v: number };
};
type Work = { on: pg.Client; random: Random; lease: string; rows: Row[]; seconds: number };

const numbers = (rows: Row[]) => rows.map((row) => row.payload.n);

async function whole({ on, lease, rows }: Work): Promise<void> {
  say(['tried', lease, numbers(rows)]);
  const answer = await on.query('select completed, refused from tock.complete(p_lease => $1)', [
    lease,
  ]);
  if (answer.rows[0]?.completed === rows.length) say(['done', now(), lease, numbers(rows)]);
  did(answer.rows[0] ? 'complete' : 'complete, too late');
}

async function part({ on, lease }: Work, rows: Row[]): Promise<void> {
  say(['tried', lease, numbers(rows)]);
  const results = rows.map(({ id, payload }) => ({ id, result: payload.n }));
  const answer = await on.query(
    'select completed, refused from tock.complete(p_lease => $1, p_results => $2)',
    [lease, JSON.stringify(results)],
  );
  const refused = new Set<string>(answer.rows[0]?.refused ?? rows.map((row) => row.id));
  const good = rows.filter((row) => !refused.has(row.id));
  if (good.length > 0) say(['done', now(), lease, numbers(good)]);
  did(answer.rows[0] ? 'complete a part' : 'complete a part, too late');
}

async function failing({ on, lease, random }: Work, rows: Row[]): Promise<void> {
  const failures = rows.map(({ id }) => ({
    id,
    error: { name: 'Broken' },
    ...(random(8) === 0
      ? { fatal: true }
      : random(2) === 0 && { retry_in_seconds: random(2000) / 1000 }),
  }));
  const text = 'select failed from tock.fail(p_lease => $1, p_failures => $2)';
  const answer = await on.query(text, [lease, JSON.stringify(failures)]);
  did(answer.rows[0] ? 'fail' : 'fail, too late');
}

async function torn(work: Work): Promise<void> {
  const rows = work.rows.toSorted(() => work.random(3) - 1);
  const cut = Math.ceil(rows.length / 3);
  if (cut > 0) await part(work, rows.slice(0, cut));
  if (rows.length > cut) await failing(work, rows.slice(cut, cut + 5));
  const left = rows.slice(cut + 5);
  for (const row of left.splice(0, work.random(8))) await part(work, [row]);
  if (left.length === 0) return;
  if (work.random(2)) await part(work, left);
  else {
    const ids = left.map((row) => row.id);
    await work.on.query('select released from tock.release(p_lease => $1, p_ids => $2)', [
      work.lease,
      ids,
    ]);
    did('release a part');
  }
}

async function late(work: Work): Promise<void> {
  const { on, lease, rows, random } = work;
  const end = random(3) === 0 ? 'rollback' : 'commit';
  say(['tried', lease, numbers(rows)]);
  await on.query('begin');
  const answer = await on.query('select completed from tock.complete(p_lease => $1)', [lease]);
  await pause(random(work.seconds * 800));
  await on.query(end);
  const all = answer.rows[0]?.completed === rows.length;
  if (end === 'commit' && all) say(['done', now(), lease, numbers(rows)]);
  did(`complete in a transaction, ${end}`);
}

async function longer(work: Work): Promise<void> {
  await pause(work.random(work.seconds * 600));
  await work.on.query('select leased_until, runs, cancel from tock.extend(p_lease => $1)', [
    work.lease,
  ]);
  did('extend');
  await whole(work);
}

async function overdue(work: Work): Promise<void> {
  await pause(work.seconds * 1000 + work.random(1500));
  await whole(work);
}

const ways: [number, (work: Work) => Promise<unknown>][] = [
  [60, whole],
  [14, torn],
  [6, (work) => part(work, work.rows)],
  [4, longer],
  [3, late],
  [3, (work) => failing(work, work.rows)],
  [2, overdue],
  [2, async () => did('walk away')],
  [
    3,
    async ({ on, lease }) => {
      await on.query('select released from tock.release(p_lease => $1)', [lease]);
      did('release');
    },
  ],
  [
    2,
    async ({ on, lease }) => {
      await on.query('select failed from tock.fail(p_lease => $1)', [lease]);
      did('fail all');
    },
  ],
];

async function turn(on: pg.Client, random: Random, direct: boolean): Promise<void> {
  const seconds = 2 + random(4);
  const limit = draining
    ? 500
    : chosen(random, [
        [6, 1],
        [6, 7],
        [3, 100],
        [1, 1000],
      ]);
  const request = random(10) === 0 ? `${name}-${now()}` : null;
  const values = [queue, name, limit, seconds, request, random(8) > 0];
  const text = `select lease, id, run_id, attempt, payload from tock.claim(p_queue => $1, p_worker => $2,
    p_limit => $3, p_lease_seconds => $4, p_request_id => $5, p_alone => $6)`;
  const sent = now();
  let { rows } = await on.query<Row>(text, values);
  if (request && random(2)) {
    // as if the answer had not come
    const again = (await on.query<Row>(text, values)).rows;
    const same = (one: Row[]) =>
      one
        .map((row) => `${row.lease} ${row.run_id}`)
        .sort()
        .join();
    // A crash between the two may have lost the first; then a direct connection is gone as well.
    if (direct && rows.length > 0 && same(again) !== same(rows)) {
      say([
        'error',
        'claim',
        'another answer to the same request',
        `${same(rows)} and ${same(again)}`,
      ]);
    }
    rows = again;
    did('claim, repeated');
  }
  const took = now() - sent;
  if (took > 2000) did('claims of over 2 s');
  did('milliseconds in claims', Math.round(took));
  did('claims');
  const [first] = rows;
  if (!first) return pause(20 + random(150));
  const given = rows.map(
    ({ payload, id, run_id, attempt }): Given => [payload.n, id, run_id, attempt, payload.v],
  );
  say(['claimed', sent, first.lease, given]);
  did(`claim ${limit}`);
  if (!draining && random(3) === 0) await pause(random(100));
  const work = { on, random, lease: first.lease, rows, seconds };
  await (draining ? whole(work) : chosen(random, ways)(work));
}

async function loop(at: number): Promise<never> {
  const random = dice(Number(seed) * 100 + at);
  let on: pg.Client | null = null;
  for (;;) {
    try {
      if (!on) {
        on = new pg.Client({
          connectionString: urls[at % 2],
          connectionTimeoutMillis: 5000,
          query_timeout: 60_000,
        });
        on.on('error', () => {});
        await on.connect();
      }
      await turn(on, random, at % 2 === 0);
    } catch (error) {
      say(['error', 'work', codeOf(error), (error as Error).message]);
      void on?.end().catch(() => {});
      on = null;
      await pause(50 + random(200));
    }
  }
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    draining = line === 'drain';
  })
  .on('close', () => process.exit(0));
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
for (let at = 0; at < 4; at++) void loop(at);
