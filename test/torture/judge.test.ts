import { expect, test } from 'vitest';
import { type Ask, type Claim, type Facts, openFacts } from '../../scripts/torture/facts.ts';
import { judgeClaims } from '../../scripts/torture/judge_claims.ts';
import { judgeStored, type Stored } from '../../scripts/torture/judge_stored.ts';

// What the torture's account finds, in facts and states made up for each kind of loss.

const kinds = (found: { kind: string }[]) => [...new Set(found.map(({ kind }) => kind))];

const run = (id: string, { name = id, attempt = 1, version = 0 } = {}) => ({
  id,
  run: name,
  attempt,
  n: Number(id),
  version,
});

const ask = (n: number, more: Partial<Ask> = {}): Ask => ({
  n,
  call: `call ${n}`,
  queue: 'plain',
  sent: 0,
  fate: 'unsure',
  ...more,
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

/** So many tasks, accepted one by one, claimed and completed in order, a second apart. */
function worked(many: number): { facts: Facts; stored: Stored[] } {
  const facts = openFacts();
  const stored: Stored[] = [];
  for (let n = 1; n <= many; n++) {
    const id = String(n);
    facts.asked(ask(n));
    facts.settled(5, [n], 'sure', [id]);
    facts.claimed(claim(n * 1000, `lease ${n}`, [id]));
    const sent = n * 1000 + 100;
    facts.ending({ verb: 'complete', lease: `lease ${n}`, sent, runs: [run(id)], final: [id] });
    facts.ended(`lease ${n}`, sent, sent + 10, []);
    stored.push({ id, n, state: 'done', rerunOf: null });
  }
  return { facts, stored };
}

const bounds = { limits: { three: 3 }, caps: { few: 1 }, rates: { slow: { burst: 2, each: 1 } } };

const judged = (facts: Facts, stored: Stored[] = []) =>
  kinds([...judgeClaims(facts, bounds), ...(stored.length ? judgeStored(facts, stored) : [])]);

test('all is well where every task was done once', () => {
  const { facts, stored } = worked(3);
  expect(judged(facts, stored)).toEqual([]);
});

test('a run that is handed out in two leases is found, unless a crash lay between', () => {
  const facts = openFacts();
  facts.claimed(claim(1000, 'one', ['7']));
  facts.claimed(claim(3000, 'two', ['7']));
  expect(judged(facts)).toEqual(['a run was handed out twice']);
  facts.crashed(2000);
  expect(judged(facts)).toEqual([]);
});

test('a run of the same lease, heard of twice, is one', () => {
  const facts = openFacts();
  facts.claimed(claim(1000, 'one', ['7']));
  facts.claimed(claim(3000, 'one', ['7']));
  expect(judged(facts)).toEqual([]);
});

test('a task that comes again after its completion is found', () => {
  const { facts } = worked(1);
  facts.claimed(claim(9000, 'late', [], { runs: [run('1', { name: '99' })] }));
  expect(judged(facts)).toEqual(['handed out after its completion']);
});

test('a task that comes again before its completion was answered is none', () => {
  const { facts } = worked(1);
  facts.claimed(claim(1105, 'between', [], { runs: [run('1', { name: '99' })] }));
  expect(judged(facts)).toEqual([]);
});

test('a lost task, one stored twice and one that nobody asked for are found', () => {
  const { facts, stored } = worked(3);
  const [one, two] = stored as [Stored, Stored];
  expect(judged(facts, [one, two])).toEqual(['lost']);
  expect(judged(facts, [...stored, { ...one, id: '50' }])).toContain('stored twice');
  expect(judged(facts, [...stored, { ...one, id: '50', n: 50 }])).toContain(
    'stored, and nobody asked for it',
  );
});

test('an enqueue whose answer was lost is there whole or not at all', () => {
  const { facts, stored } = worked(1);
  for (const n of [11, 12, 13]) facts.asked(ask(n, { call: 'lost' }));
  expect(judged(facts, stored)).toEqual([]);
  const there = [11, 12, 13].map(
    (n): Stored => ({ id: `${n}`, n, state: 'expired', rerunOf: null }),
  );
  const ofCall = (many: number) => judgeStored(facts, [...stored, ...there.slice(0, many)]);
  expect(kinds(ofCall(3))).not.toContain('half a call');
  expect(kinds(ofCall(2))).toContain('half a call');
});

test('what was rolled back and is there is found', () => {
  const { facts, stored } = worked(1);
  facts.asked(ask(2));
  facts.settled(5, [2], 'none');
  expect(judged(facts, stored)).toEqual([]);
  expect(judged(facts, [...stored, { id: '2', n: 2, state: 'done', rerunOf: null }])).toContain(
    'undone and stored',
  );
});

test('a completion that was told and undone is found, and one that nobody made', () => {
  const { facts, stored } = worked(2);
  const dead = stored.map((task) => ({ ...task, state: 'dead' }));
  expect(judged(facts, dead)).toEqual(['a completion was undone']);
  facts.asked(ask(3));
  facts.settled(5, [3], 'sure', ['3']);
  const third = (state: string): Stored[] => [...stored, { id: '3', n: 3, state, rerunOf: null }];
  expect(judged(facts, third('done'))).toEqual(['done, and nobody said so']);
  expect(judged(facts, third('cancelled'))).toEqual(['cancelled, and nobody said so']);
  expect(judged(facts, third('running'))).toEqual(['not ended']);
});

test('a gate of three that lets in a fourth is found, and one whose lease had ended is none', () => {
  const facts = openFacts();
  for (let n = 1; n <= 4; n++) {
    facts.asked(ask(n, { queue: 'three', gate: 'a' }));
    facts.settled(5, [n], 'sure', [String(n)]);
    facts.claimed(claim(n * 100, `lease ${n}`, [String(n)], { queue: 'three' }));
  }
  expect(judged(facts)).toEqual(['a gate was overshot']);
  facts.ending({ verb: 'fail', lease: 'lease 1', sent: 350, runs: [run('1')], final: [] });
  expect(judged(facts)).toEqual([]);
});

test('one claim that brings too many of a gate is found', () => {
  const facts = openFacts();
  for (const n of [1, 2]) {
    facts.asked(ask(n, { queue: 'one', gate: 'a' }));
    facts.settled(5, [n], 'sure', [String(n)]);
  }
  facts.claimed(claim(100, 'lease', ['1', '2'], { queue: 'one' }));
  expect(judged(facts)).toEqual(['a gate was overshot']);
});

test('what comes too early, too late, before its parent or after its cancel is found', () => {
  const early: [Partial<Ask>, string][] = [
    [{ due: 2000 }, 'handed out before its time'],
    [{ expires: 900 }, 'handed out after it expired'],
    [{ parents: [2] }, 'handed out before its parent'],
  ];
  for (const [more, kind] of early) {
    const facts = openFacts();
    facts.asked(ask(1, more));
    facts.settled(5, [1], 'sure', ['1']);
    facts.claimed(claim(1000, 'lease', ['1']));
    expect(judged(facts)).toEqual([kind]);
  }
  const facts = openFacts();
  facts.cancelled({ id: '1', sent: 10, told: 20 });
  facts.claimed(claim(1000, 'lease', ['1']));
  expect(judged(facts)).toEqual(['handed out after it was cancelled']);
});

test('a change that the next claim does not know is found', () => {
  const facts = openFacts();
  facts.changed({ id: '1', sent: 10, told: 20, version: 2 });
  facts.claimed(claim(1000, 'lease', [], { runs: [run('1', { version: 1 })] }));
  expect(judged(facts)).toEqual(['a change was lost']);
});

test('two tasks of one key at once are found', () => {
  const facts = openFacts();
  facts.asked(ask(1, { unique: 'k' }));
  facts.settled(5, [1], 'sure', ['1']);
  facts.asked(ask(2, { unique: 'k', sent: 500 }));
  facts.settled(505, [2], 'sure', ['2']);
  expect(judged(facts)).toEqual([]);
  facts.claimed(claim(1000, 'lease', ['1']));
  expect(judged(facts)).toEqual(['two tasks of one key']);
});

test('a rerun that is lost, and one that nobody was told of, are found', () => {
  const { facts, stored } = worked(1);
  facts.rerun({ of: '1', id: '8' });
  facts.ending({ verb: 'complete', lease: 'x', sent: 1, runs: [run('8'), run('9')], final: [] });
  const again = (id: string): Stored => ({ id, n: 1, state: 'done', rerunOf: '1' });
  expect(judged(facts, [...stored, again('8')])).toEqual([]);
  expect(judged(facts, stored)).toEqual(['a rerun was lost']);
  expect(judged(facts, [...stored, again('8'), again('9')])).toEqual([
    'a rerun that nobody was told of',
  ]);
});

test('a task that two leases finish, and a run that ends in two ways, are found', () => {
  const { facts } = worked(1);
  facts.ending({ verb: 'complete', lease: 'stale', sent: 1120, runs: [run('1')], final: ['1'] });
  facts.ended('stale', 1120, 1130, []);
  expect(judged(facts)).toEqual(['finished twice']);
  const both = worked(1).facts;
  both.ending({ verb: 'fail', lease: 'lease 1', sent: 1120, runs: [run('1')], final: [] });
  both.ended('lease 1', 1120, 1130, []);
  expect(judged(both)).toEqual(['ended in two ways']);
});

test('a task that is taken back while its lease goes on is found, unless its worker let go or a crash lay between', () => {
  const facts = openFacts();
  facts.claimed(claim(1000, 'one', ['7']));
  const second = run('7', { name: String(8 << 20) });
  facts.claimed(claim(3000, 'two', [], { runs: [second] }));
  expect(judged(facts)).toEqual(['taken back before its time']);
  facts.crashed(2000);
  expect(judged(facts)).toEqual([]);
  // What was sent first and held up on its way came second: its run says so.
  const slow = openFacts();
  slow.claimed(claim(1000, 'two', [], { answered: 9000, until: 10_000, runs: [second] }));
  slow.claimed(claim(2000, 'one', ['7'], { until: 4000 }));
  expect(judged(slow)).toEqual([]);
});

test('a claim from a paused queue, and more than a cap or a rate allows, are found', () => {
  const paused = openFacts();
  paused.paused({ queue: 'plain', told: 900, until: 2000 });
  paused.claimed(claim(1000, 'one', ['7']));
  expect(judged(paused)).toEqual(['handed out while its queue was paused']);
  const capped = openFacts();
  capped.claimed(claim(1000, 'one', ['7'], { queue: 'few' }));
  expect(judged(capped)).toEqual([]);
  capped.claimed(claim(2000, 'two', ['8'], { queue: 'few' }));
  expect(judged(capped)).toEqual(['a gate was overshot']);
  const paced = openFacts();
  paced.claimed(claim(1000, 'one', ['1', '2', '3'], { queue: 'slow' }));
  expect(judged(paced)).toEqual([]);
  paced.claimed(claim(1100, 'two', ['4'], { queue: 'slow' }));
  expect(judged(paced)).toEqual(['a rate was overshot']);
});

test('the newest of a key is given to somebody, unless one of unknown fate may have come after it', () => {
  const facts = openFacts();
  for (const n of [1, 2]) {
    facts.asked(ask(n, { unique: 'k', replaced: true, sent: n * 100 }));
    facts.settled(n * 100 + 10, [n], 'sure', ['1']);
  }
  expect(judged(facts)).toEqual(['the newest of a key was lost']);
  facts.claimed(claim(1000, 'one', [], { runs: [{ ...run('1'), n: 2 }] }));
  expect(judged(facts)).toEqual([]);
});

test('a child that is cancelled though all its parents ended well is found', () => {
  const { facts, stored } = worked(1);
  facts.asked(ask(2, { parents: [1] }));
  facts.settled(5, [2], 'sure', ['2']);
  expect(judged(facts, [...stored, { id: '2', n: 2, state: 'cancelled', rerunOf: null }])).toEqual([
    'cancelled, and nobody said so',
  ]);
});
