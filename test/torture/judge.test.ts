import { expect, test } from 'vitest';
import { checkClaims } from '../../scripts/chaos/checker/claims.ts';
import { checkResources } from '../../scripts/chaos/checker/resources.ts';
import { checkFires, checkStored } from '../../scripts/chaos/checker/stored.ts';
import {
  type Claim,
  type Journal,
  openJournal,
  type Stored,
  type TaskRequest,
} from '../../scripts/chaos/journal.ts';

// The journals and stored states here are made up, one for each kind of loss.

const kinds = (differences: { kind: string }[]) => [
  ...new Set(differences.map(({ kind }) => kind)),
];

const run = (id: string, name = id) => ({ id, run: name, attempt: 1, n: Number(id), version: 0 });

const request = (n: number, more: Partial<TaskRequest> = {}): TaskRequest => ({
  n,
  call: `call ${n}`,
  queue: 'plain',
  sent: 0,
  fate: 'unsure',
  ...more,
});

/** A task as the database has it at the end. */
const task = (
  n: number,
  state = 'done',
  id = String(n),
  rerunOf: string | null = null,
): Stored => ({
  id,
  n,
  state,
  rerunOf,
});

const claim = (sent: number, lease: string, ids: string[], more: Partial<Claim> = {}): Claim => ({
  sent,
  answered: sent + 10,
  queue: 'plain',
  lease,
  until: sent + 4000,
  runs: ids.map((id) => run(id)),
  ...more,
});

/** Records a request for a task with the id n, and its answer. */
function enqueued(journal: Journal, n: number, more: Partial<TaskRequest> = {}, at = 5): void {
  journal.requested(request(n, more));
  journal.settled(at, [n], 'sure', [String(n)]);
}

/** A journal of these claims. */
function leased(...claims: Claim[]): Journal {
  const journal = openJournal();
  for (const each of claims) journal.claimed(each);
  return journal;
}

/** A journal of tasks that were enqueued one by one, and claimed and completed in order, a second apart. */
function worked(many: number): { journal: Journal; stored: Stored[] } {
  const journal = openJournal();
  const stored: Stored[] = [];
  for (let n = 1; n <= many; n++) {
    const id = String(n);
    enqueued(journal, n);
    journal.claimed(claim(n * 1000, `lease ${n}`, [id]));
    const sent = n * 1000 + 100;
    journal.ending({ verb: 'complete', lease: `lease ${n}`, sent, runs: [run(id)], final: [id] });
    journal.ended(`lease ${n}`, sent, sent + 10, []);
    stored.push(task(n));
  }
  return { journal, stored };
}

const bounds = { limits: { three: 3 }, caps: { few: 1 }, rates: { slow: { burst: 2, each: 1 } } };

const judged = (journal: Journal, stored: Stored[] = []) =>
  kinds([...checkClaims(journal, bounds), ...(stored.length ? checkStored(journal, stored) : [])]);

test('no difference is found if every task was done once', () => {
  const { journal, stored } = worked(3);
  expect(judged(journal, stored)).toEqual([]);
});

test('a run that is leased twice is found, unless the lease is the same or a crash lies between', () => {
  expect(judged(leased(claim(1000, 'one', ['7']), claim(3000, 'one', ['7'])))).toEqual([]);
  const journal = leased(claim(1000, 'one', ['7']), claim(3000, 'two', ['7']));
  expect(judged(journal)).toEqual(['a run was leased twice']);
  journal.crashed(2000);
  expect(judged(journal)).toEqual([]);
});

test('a task that is leased after its completion was answered is found', () => {
  const { journal } = worked(1);
  journal.claimed(claim(1105, 'between', [], { runs: [run('1', '99')] }));
  expect(judged(journal)).toEqual([]);
  journal.claimed(claim(9000, 'late', [], { runs: [run('1', '98')] }));
  expect(judged(journal)).toContain('leased after its completion');
});

test('a lost task, one stored twice and one stored without a request are found', () => {
  const { journal, stored } = worked(3);
  const also = (more: Stored) => judged(journal, [...stored, more]);
  expect(judged(journal, stored.slice(0, 2))).toEqual(['lost']);
  expect(also(task(1, 'done', '50'))).toContain('stored twice');
  expect(also(task(50))).toContain('stored without a request');
});

test('an enqueue whose answer was lost must be stored whole or not at all', () => {
  const { journal, stored } = worked(1);
  for (const n of [11, 12, 13]) journal.requested(request(n, { call: 'lost' }));
  expect(judged(journal, stored)).toEqual([]);
  const there = [11, 12, 13].map((n) => task(n, 'expired'));
  const ofCall = (many: number) => checkStored(journal, [...stored, ...there.slice(0, many)]);
  expect(kinds(ofCall(3))).not.toContain('half a call');
  expect(kinds(ofCall(2))).toContain('half a call');
});

test('a rolled-back task that is stored is found', () => {
  const { journal, stored } = worked(1);
  journal.requested(request(2));
  journal.settled(5, [2], 'none');
  expect(judged(journal, stored)).toEqual([]);
  expect(judged(journal, [...stored, task(2)])).toContain('undone but stored');
});

test('a lost acknowledged completion is found, and a completion without a request', () => {
  const { journal, stored } = worked(2);
  const dead = stored.map(({ n }) => task(n, 'dead'));
  expect(judged(journal, dead)).toEqual(['a completion was undone']);
  enqueued(journal, 3);
  const third = (state: string) => judged(journal, [...stored, task(3, state)]);
  expect(third('done')).toEqual(['done, without a request for it']);
  expect(third('cancelled')).toEqual(['cancelled, without a request for it']);
  expect(third('running')).toEqual(['not ended']);
  // A cancel of a child whose parents are all done has no request either.
  enqueued(journal, 4, { parents: [1] });
  const child = judged(journal, [...stored, task(3, 'expired'), task(4, 'cancelled')]);
  expect(child).toContain('cancelled, without a request for it');
});

test('a fourth holder of a concurrency key of three is found, and a holder whose lease had ended does not count', () => {
  const journal = openJournal();
  for (let n = 1; n <= 4; n++) {
    enqueued(journal, n, { queue: 'three', concurrency_key: 'a' });
    journal.claimed(claim(n * 100, `lease ${n}`, [String(n)], { queue: 'three' }));
  }
  expect(judged(journal)).toEqual(['a concurrency limit was exceeded']);
  journal.ending({ verb: 'fail', lease: 'lease 1', sent: 350, runs: [run('1')], final: [] });
  expect(judged(journal)).toEqual([]);
  const together = openJournal();
  for (const n of [1, 2]) enqueued(together, n, { queue: 'one', concurrency_key: 'a' });
  together.claimed(claim(100, 'lease', ['1', '2'], { queue: 'one' }));
  expect(judged(together)).toEqual(['a concurrency limit was exceeded']);
});

test.each<[string, (journal: Journal) => void]>([
  ['leased before its time', (journal) => enqueued(journal, 1, { due: 2000 })],
  ['leased after it expired', (journal) => enqueued(journal, 1, { expires: 900 })],
  ['leased before its parent', (journal) => enqueued(journal, 1, { parents: [2] })],
  [
    'leased after it was cancelled',
    (journal) => journal.cancelled({ id: '1', sent: 10, acknowledged: 20 }),
  ],
  [
    'a change was lost',
    (journal) => journal.changed({ id: '1', sent: 10, acknowledged: 20, version: 2 }),
  ],
])('it is found: %s', (kind, before) => {
  const journal = openJournal();
  before(journal);
  journal.claimed(claim(1000, 'lease', ['1']));
  expect(judged(journal)).toEqual([kind]);
});

test('two tasks of one unique key at once are found', () => {
  const journal = openJournal();
  enqueued(journal, 1, { unique: 'k' });
  enqueued(journal, 2, { unique: 'k', sent: 500 }, 505);
  expect(judged(journal)).toEqual([]);
  journal.claimed(claim(1000, 'lease', ['1']));
  expect(judged(journal)).toEqual(['two tasks of one key']);
});

test('a lost rerun, and one that was never answered, are found', () => {
  const { journal, stored } = worked(1);
  journal.rerun({ of: '1', id: '8' });
  journal.ending({ verb: 'complete', lease: 'x', sent: 1, runs: [run('8'), run('9')], final: [] });
  const again = (id: string) => task(1, 'done', id, '1');
  expect(judged(journal, [...stored, again('8')])).toEqual([]);
  expect(judged(journal, stored)).toEqual(['a rerun was lost']);
  expect(judged(journal, [...stored, again('8'), again('9')])).toEqual([
    'a rerun that no client got in an answer',
  ]);
});

test('a task that two leases complete, and a run with two outcomes, are found', () => {
  const { journal } = worked(1);
  journal.ending({ verb: 'complete', lease: 'stale', sent: 1120, runs: [run('1')], final: ['1'] });
  journal.ended('stale', 1120, 1130, []);
  expect(judged(journal)).toEqual(['completed twice']);
  const both = worked(1).journal;
  both.ending({ verb: 'fail', lease: 'lease 1', sent: 1120, runs: [run('1')], final: [] });
  both.ended('lease 1', 1120, 1130, []);
  expect(judged(both)).toEqual(['ended in two ways']);
});

test('a task that is leased again during its lease is found, unless its worker ended the lease or a crash lies between', () => {
  const second = run('7', String(8 << 20));
  const journal = leased(claim(1000, 'one', ['7']), claim(3000, 'two', [], { runs: [second] }));
  expect(judged(journal)).toEqual(['leased again before its time']);
  journal.crashed(2000);
  expect(judged(journal)).toEqual([]);
  // The run shows that the claim sent first was delayed and executed second.
  const slow = claim(1000, 'two', [], { answered: 9000, until: 10_000, runs: [second] });
  expect(judged(leased(slow, claim(2000, 'one', ['7'], { until: 4000 })))).toEqual([]);
});

test('a claim from a paused queue, and one above max_running or a rate, are found', () => {
  const paused = openJournal();
  paused.paused({ queue: 'plain', acknowledged: 900, until: 2000 });
  paused.claimed(claim(1000, 'one', ['7']));
  expect(judged(paused)).toEqual(['leased while its queue was paused']);
  const capped = leased(claim(1000, 'one', ['7'], { queue: 'few' }));
  expect(judged(capped)).toEqual([]);
  capped.claimed(claim(2000, 'two', ['8'], { queue: 'few' }));
  expect(judged(capped)).toEqual(['a concurrency limit was exceeded']);
  const paced = leased(claim(1000, 'one', ['1', '2', '3'], { queue: 'slow' }));
  expect(judged(paced)).toEqual([]);
  paced.claimed(claim(1100, 'two', ['4'], { queue: 'slow' }));
  expect(judged(paced)).toEqual(['a rate was exceeded']);
});

test('a newest payload of a key that is never leased is found, unless a call with an unknown outcome may follow it', () => {
  const journal = openJournal();
  for (const n of [1, 2]) {
    journal.requested(request(n, { unique: 'k', replaced: true, sent: n * 100 }));
    journal.settled(n * 100 + 10, [n], 'sure', ['1']);
  }
  expect(judged(journal)).toEqual(['the newest of a key was lost']);
  journal.claimed(claim(1000, 'one', [], { runs: [{ ...run('1'), n: 2 }] }));
  expect(judged(journal)).toEqual([]);
});

test('a repeated claim with other runs is found, unless a crash lies between', () => {
  const journal = openJournal();
  const repeat = { sent: 1000, answered: 1020, until: 4000, first: 'one 7', second: 'two 8' };
  journal.repeated({ ...repeat, second: 'one 7' });
  journal.repeated({ ...repeat, answered: 5000 });
  expect(judged(journal)).toEqual([]);
  journal.repeated(repeat);
  expect(judged(journal)).toEqual(['a repeated claim returned other runs']);
  journal.crashed(1010);
  expect(judged(journal)).toEqual([]);
});

test('a double fire, a missing fire and a fire without its task are found', () => {
  const at = (second: number, fire_at = second * 1000, outcome = 'fired') => ({
    schedule: 'each',
    fire_at,
    outcome,
    task_id: `${second}`,
  });
  const all = [1, 2, 3].map((second) => task(0, 'done', `${second}`));
  const fires = (list: ReturnType<typeof at>[], tasks = all) =>
    kinds(checkFires(list, tasks, { each: 1000 }));
  expect(fires([at(1), at(2), at(3)])).toEqual([]);
  expect(fires([at(1), at(2, 1500, 'run'), at(3)])).toEqual(['a fire is missing']);
  expect(fires([at(1), at(2), at(3, 2000)])).toEqual(['a fire came twice']);
  expect(fires([at(1), at(2), at(3)], all.slice(1))).toEqual(['a fire without its task']);
  expect(fires([at(1), at(2)])).toEqual(["a schedule's task without its fire"]);
});

test('a resource that grows under the same load is found', () => {
  const samples = (mb: (at: number) => number) =>
    Array.from({ length: 30 }, (_, at) => ({ mb: mb(at) }));
  // It rises at first, and then varies around one value.
  expect(checkResources(samples((at) => Math.min(200, at * 30) + (at % 5) * 10))).toEqual([]);
  expect(kinds(checkResources(samples((at) => 20 * at)))).toEqual(['a resource grows']);
});
