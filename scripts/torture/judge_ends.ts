import type { Ask, Difference, End, Facts } from './facts.ts';
import { type Bounds, type Handed, slack } from './judge_claims.ts';

/** What a worker is told of an end is for good: of one lease alone for a task, and of one verb for a run. */
function endedTwice(facts: Facts): Difference[] {
  const found: Difference[] = [];
  const finals = new Map<string, string>();
  const verbs = new Map<string, End['verb']>();
  for (const { told, verb, lease, runs, final } of facts.ends) {
    if (told === undefined) continue;
    for (const id of final) {
      const other = finals.get(id);
      const detail = `done in ${other} and in ${lease}`;
      if (other && other !== lease) found.push({ kind: 'finished twice', task: id, detail });
      finals.set(id, lease);
    }
    for (const { id, run } of runs) {
      const other = verbs.get(`${lease} ${run}`);
      const detail = `run ${run} of ${lease}: ${other} and ${verb}`;
      if (other && other !== verb) found.push({ kind: 'ended in two ways', task: id, detail });
      verbs.set(`${lease} ${run}`, verb);
    }
  }
  return found;
}

/** Of two runs of a task the later one has the higher position; of two claims the one that was sent first may be the later one. */
const later = (run: string, than: string) => BigInt(run) >> 20n > BigInt(than) >> 20n;

/** A task comes again when its lease is over, or was ended; or where a crash took the claim back. */
function takenBack(facts: Facts, handed: Map<string, Handed[]>): Difference[] {
  const over = new Map<string, number>();
  for (const { lease, sent, runs } of facts.ends)
    for (const { run } of runs)
      over.set(`${lease} ${run}`, Math.min(sent, over.get(`${lease} ${run}`) ?? sent));
  const found: Difference[] = [];
  for (const [task, list] of handed) {
    for (const { claim, run } of list) {
      const [next] = list
        .filter((other) => later(other.run.run, run.run))
        .toSorted((a, b) => a.claim.answered - b.claim.answered);
      if (!next || claim.until - slack <= next.claim.answered) continue;
      if (
        (over.get(`${claim.lease} ${run.run}`) ?? Number.POSITIVE_INFINITY) <= next.claim.answered
      )
        continue;
      if (facts.crashes.some((crash) => crash >= claim.sent && crash <= next.claim.answered))
        continue;
      const detail = `leased until ${claim.until}, handed out again by ${next.claim.answered}`;
      found.push({ kind: 'taken back before its time', task, detail });
    }
  }
  return found;
}

function whilePaused(facts: Facts): Difference[] {
  return facts.pauses.flatMap(({ queue, told, until }) =>
    facts.claims
      .filter((claim) => claim.queue === queue && claim.sent > told && claim.answered < until)
      .map(({ lease, sent }) => ({
        kind: 'handed out while its queue was paused',
        task: lease,
        detail: `${queue}: at ${sent}, paused from ${told} to ${until}`,
      })),
  );
}

/** Between any two claims: how many started for sure since the one was sent, until the other was answered. */
function tooMany(facts: Facts, rates: Bounds['rates']): Difference[] {
  const found: Difference[] = [];
  for (const [queue, { burst, each }] of Object.entries(rates)) {
    const claims = facts.claims
      .filter((claim) => claim.queue === queue)
      .sort((a, b) => a.sent - b.sent);
    for (const [at, first] of claims.entries()) {
      const since = claims.slice(at).sort((a, b) => a.answered - b.answered);
      let started = 0;
      for (const { answered, runs, lease } of since) {
        started += runs.length;
        const most = burst + (each * (answered - first.sent + slack)) / 1000 + 1;
        if (started <= most) continue;
        const detail = `${queue}: ${started} between ${first.sent} and ${answered}`;
        found.push({ kind: 'a rate was overshot', task: lease, detail });
        break;
      }
    }
  }
  return found;
}

/** The last that was put in the place of the others of its key is the one that is given to a worker. */
function newestLost(facts: Facts): Difference[] {
  const asks = [...facts.asks.values()].filter(({ replaced, fate }) => replaced && fate !== 'none');
  const last = new Map<string, Ask>();
  for (const ask of asks) {
    const key = ask.unique ?? '';
    if (ask.fate === 'sure' && ask.n > (last.get(key)?.n ?? 0)) last.set(key, ask);
  }
  const given = new Set(facts.claims.flatMap(({ runs }) => runs.map(({ n }) => n)));
  return [...last].flatMap(([key, { n, call, sent, id }]) => {
    // One that was never answered may have come after it.
    const others = asks.filter((ask) => ask.unique === key && ask.call !== call);
    if (given.has(n) || others.some(({ answered = sent }) => answered >= sent)) return [];
    return [
      { kind: 'the newest of a key was lost', task: id ?? '', detail: `${key}: number ${n}` },
    ];
  });
}

/** What the ends show, and what is said of whole queues. */
export function judgeEnds(
  facts: Facts,
  handed: Map<string, Handed[]>,
  { rates }: Bounds,
): Difference[] {
  return [
    ...endedTwice(facts),
    ...takenBack(facts, handed),
    ...whilePaused(facts),
    ...tooMany(facts, rates),
    ...newestLost(facts),
  ];
}
