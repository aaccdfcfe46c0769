import { expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  promote,
  reap,
  rows,
  task,
  value,
} from '../../verbs.ts';

databasePerFile();

// Options that only the enqueue needs: a run does not store them. `name` is for depends_on in the same call.
const usedUp = `
  changed_at debounce_max_seconds expires_in_seconds name on_conflict unique_policy unique_seconds`;

const samples: Record<string, unknown> = {
  depends_on: ['1'],
  backoff: { kind: 'fixed' },
  expires_at: '2100-01-01T00:00:00Z',
  include_results: true,
  headers: { a: 'b' },
  on_parent_failure: 'run',
  parent: '1',
  pipeline: [{ queue: 'b' }],
};
const ofKind: Record<string, unknown> = {
  text: 'a',
  whole: 1,
  number: 1,
  url: 'https://a.example',
};

test('each option of a task is stored with its runs, or is listed as needed only by the enqueue', async () => {
  const all = 'select name, kind from tock.extended_options()';
  const options = await rows<{ name: string; kind: string }>(client, all);
  const lost: string[] = [];
  for (const { name, kind } of options) {
    const task = { depends_on: ['1'], [name]: samples[name] ?? ofKind[kind] ?? 'keep' };
    const stored = "select tock.kept_options($1, tock.policy('q'), now())";
    const kept = await value<object | null>(client, stored, [JSON.stringify(task)]);
    if (!(name in (kept ?? {}))) lost.push(name);
  }
  expect(lost.sort()).toEqual(usedUp.trim().split(/\s+/));
});

/** Too small for a double. JSON takes it written out, and PostgreSQL reads it as numeric. */
const tiny = `0.${'0'.repeat(400)}1`;

const enqueueText = (queue: string, tasks: string) =>
  value<string[]>(client, 'select tock.enqueue($1, $2::jsonb)', [queue, tasks]);

/** Ends the time limits of all runs of a queue. */
const timeUp = (queue: string) =>
  client.query(
    `update tock.leases l set leased_until = now() - interval '1 s', timeout_at = now() - interval '1 s'
     from tock.streams s where s.number = l.stream and s.queue = $1 and l.closed_at is null`,
    [queue],
  );

/** The name of the error of the last run that ended. */
async function endOf(id: string) {
  const ended = (await task(client, id))?.runs.filter((run) => run.ended_at);
  return (ended?.at(-1)?.error as { name: string } | null)?.name;
}

test.each(['base_seconds', 'cap_seconds', 'jitter'])(
  'a %s too small for a double does not break the reaper or a failure',
  async (part) => {
    const own = `{"timeout_seconds": 5, "backoff": {"${part}": ${tiny}}}`;
    const [up, failed] = await enqueueText(part, `[${own}, ${own}]`);
    await claim(client, part);
    await timeUp(part);
    const [innocent] = await enqueue(client, `beside-${part}`, [{ timeout_seconds: 5 }]);
    await claim(client, `beside-${part}`);
    await timeUp(`beside-${part}`);
    await reap(client);
    for (const id of [up, innocent]) expect(await endOf(id as string)).toBe('TimedOut');
    await makeDue(client, part);
    await promote(client);
    await fail(client, leaseOf(await claim(client, part)), { error: { name: 'Thrown' } });
    expect(await endOf(failed as string)).toBe('Thrown');
  },
);

test('tasks with the least and the greatest values of each option fail no maintenance job and no claim', async () => {
  const last = '"9999-12-31T23:59:59.9-12:00"';
  const longest = '{"kind": "exponential", "base_seconds": 86400, "factor": 10, "jitter": 1}';
  const tasks = [
    `{"expires_at": ${last}, "timeout_seconds": 1}`,
    '{"expires_at": "1970-01-02T00:00:00+12:00"}',
    `{"expires_in_seconds": ${tiny}, "timeout_seconds": 2678400}`,
    '{"expires_in_seconds": 315360000, "delay_seconds": 315360000}',
    `{"delay_seconds": ${tiny}, "max_attempts": 1000, "priority": 9}`,
    `{"run_at": "1970-01-02T00:00:00+12:00", "backoff": ${longest}}`,
    `{"concurrency_key": "${'ü'.repeat(200)}", "expires_at": ${last}}`,
    `{"unique_key": "${'ü'.repeat(500)}", "on_conflict": "rerun", "changed_at": ${last}}`,
    `{"unique_key": "p", "unique_policy": "period", "unique_seconds": 31536000}`,
    `{"unique_key": "t", "on_conflict": "throttle", "unique_seconds": 31536000, "run_at": "1970-01-02T00:00:00Z"}`,
    `{"unique_key": "d", "on_conflict": "debounce", "debounce_max_seconds": ${tiny}, "delay_seconds": ${tiny}}`,
  ];
  // In this time zone the latest instant is still in the year 9999; in the next one it is in the year 10000.
  await client.query("set timezone = 'Etc/GMT+12'");
  for (let times = 0; times < 2; times++) await enqueueText('extreme', `[${tasks.join()}]`);
  await client.query("set timezone = 'Etc/GMT-14'");
  await promote(client);
  let runs = 0;
  for (let seen = 1; seen > 0; runs += seen)
    seen = (await claim(client, 'extreme', { limit: 100 })).length;
  expect(runs).toBeGreaterThan(5);
  await timeUp('extreme');
  expect(await reap(client)).toBe(runs);
  await makeDue(client, 'extreme');
  expect(await value(client, 'select tock.tick() is not null')).toBe(true);
  const failed = 'select count(*)::int from tock.maintenance_jobs where last_error is not null';
  expect(await value(client, failed)).toBe(0);
});
