import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { alive, identify } from '../../scripts/stack/processes.ts';
import { value } from '../sql/verbs.ts';
import { conditionTimeout } from '../timeout.ts';
import { folder, type Process, startProcess, tock, useExample } from './copy.ts';
import { whyUnavailable } from './programs.ts';

const queue = 'chores';

useExample('shell', queue);
let lacking: string | null;
beforeAll(async () => {
  lacking = await whyUnavailable(['curl', 'jq']);
});
beforeEach(({ skip }) => skip(lacking !== null, lacking ?? ''));

type Settings = Record<string, string>;

/** Starts worker.sh with this bash script as its command. */
function worker(script: string, settings: Settings = { UNTIL_EMPTY: '1' }): Process {
  const argv = ['./worker.sh', queue, 'bash', '-c', script];
  return startProcess(argv, folder, { ...tock.env, ...settings });
}

const resultsOf = (ids: string[]) =>
  Promise.all(ids.map(async (id) => (await tock.task(id)).result));

const hostile = [
  `'; touch "$(echo hacked)" #`,
  '$(touch hacked) `touch hacked` $IFS',
  '-n --help \\ \\\\ \\n %s %d "',
  'two\nlines\r\n\ttab, and an end\n\n',
  '  *  ?  ',
  '😀 é \u202e \u0001 \u007f',
  '',
  '@/etc/passwd',
];

test('a shell worker passes any payload to its command, and returns what it prints', async () => {
  const payloads = [...hostile.slice(0, 2), { '"; touch hacked': hostile }, '', null, false];
  const ids = await tock.enqueue(queue, payloads);
  const { code, err } = await worker('cat; [[ ! $TOCK_KEY ]]').ended;
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(await resultsOf(ids)).toEqual(payloads);
  expect(readdirSync(folder).join()).not.toContain('hacked');
});

test('without a command a shell worker prints its usage', async () => {
  const ended = await startProcess(['./worker.sh', queue], folder, tock.env).ended;
  expect(ended).toMatchObject({ code: 2, err: 'usage: worker.sh QUEUE COMMAND [ARGUMENT...]\n' });
});

test("a command's output is its result: JSON, text, or nothing", async () => {
  const scripts = ['printf "a\\0b\\n"', 'true', 'echo "{not json}"', 'echo 1 2'];
  const ids = await tock.enqueue(queue, scripts);
  await worker('bash -c "$(jq -r .)"').ended;
  expect(await resultsOf(ids)).toEqual(['ab\n', null, '{not json}\n', '1 2\n']);
});

test('a failed command is retried, exit code 65 makes the task dead, and stderr is the error', async () => {
  const scripts = ['echo "it broke" >&2; exit 3', 'exit 65', `printf '"\\\\u0000"'`];
  const backoff = { kind: 'fixed', base_seconds: 3600 };
  const ids = await tock.enqueue(queue, scripts, { backoff });
  const { err } = await worker('bash -c "$(jq -r .)"').ended;
  expect(await tock.states(ids)).toEqual(['waiting', 'dead', 'waiting']);
  const broke = await tock.task(ids[0]);
  const refused = await tock.task(ids[2]);
  expect(broke.runs[0].error).toEqual({ name: 'Exit', message: 'exit code 3: it broke' });
  expect(refused.runs[0].error.message).toMatch(/u0000|NUL|null/i);
  expect(err).toContain(`task ${ids[0]}, attempt 1: exit code 3`);
});

test('after a lost answer the call is repeated, and no task runs twice', async () => {
  const ids = await tock.enqueue(queue, ['a']);
  // The answers of the claim and of the completion are lost.
  tock.server.lose(1);
  const running = worker('echo x >>ran');
  await vi.waitUntil(
    () => tock.server.calls.some((call) => call.endsWith('complete')),
    conditionTimeout,
  );
  const { code } = await running.ended;
  expect(code).toBe(0);
  expect(readFileSync(join(folder, 'ran'), 'utf8')).toBe('x\n');
  expect((await tock.task(ids[0])).runs).toMatchObject([{ state: 'done', attempt: 1 }]);
});

test('a command that runs longer than its lease keeps the lease', async () => {
  const [id] = await tock.enqueue(queue, ['long']);
  const script = 'until [[ -e over ]]; do sleep 0.1; done; echo 1';
  // The worker extends the lease after a third of its time. The rest is a margin for slow machines.
  const running = worker(script, { UNTIL_EMPTY: '1', LEASE_SECONDS: '30' });
  const open = 'select leased_until from tock.leases where closed_at is null';
  const until = async () => (await value<Date | undefined>(tock.owner, open))?.getTime();
  const first = await vi.waitUntil(until, { timeout: conditionTimeout });
  await vi.waitUntil(async () => ((await until()) ?? 0) > first, { timeout: conditionTimeout });
  writeFileSync(join(folder, 'over'), '');
  expect((await running.ended).code).toBe(0);
  expect((await tock.task(id)).runs).toMatchObject([{ state: 'done', result: 1 }]);
});

test("a cancel ends the task's command with its child processes", async () => {
  const [id] = await tock.enqueue(queue, ['cancel']);
  const script = 'sleep 300 & echo $! >pid; wait; echo never >never';
  const running = worker(script, { UNTIL_EMPTY: '1', LEASE_SECONDS: '20' });
  await vi.waitUntil(() => exists('pid'), { timeout: conditionTimeout });
  await tock.owner.query('select tock.cancel(p_ids => $1)', [[id]]);
  expect((await running.ended).code).toBe(0);
  expect(await tock.states([id as string])).toEqual(['cancelled']);
  expect(exists('never')).toBe(false);
  await vi.waitUntil(async () => !alive(identify(Number(read('pid')))), conditionTimeout);
});

test('a stopping worker releases tasks that do not end in time, which counts as no attempt', async () => {
  const [quick, slow] = [await tock.enqueue(queue, ['quick']), await tock.enqueue(queue, ['slow'])];
  const script = `cat >now; [[ $(cat now) == '"slow"' ]] && sleep 300; sleep 1; echo 1`;
  const first = worker(script, { STOP_SECONDS: '20' });
  const takes = (what: string) =>
    vi.waitUntil(() => exists('now') && read('now') === `"${what}"\n`, conditionTimeout);
  await takes('quick');
  first.child.kill('SIGTERM');
  expect((await first.ended).code).toBe(0);
  expect(await tock.states([...quick, ...slow])).toEqual(['done', 'ready']);
  const second = worker(script, { STOP_SECONDS: '0' });
  await takes('slow');
  second.child.kill('SIGTERM');
  expect((await second.ended).code).toBe(0);
  expect(await tock.task(slow[0])).toMatchObject({ state: 'ready', attempt: 1, lost: 0 });
});

const read = (name: string) => readFileSync(join(folder, name), 'utf8');
const exists = (name: string) => existsSync(join(folder, name)) && read(name) !== '';
