import type { Difference, End, Journal, TaskRequest } from '../journal.ts';
import { type Bounds, type Delivery, endsSent, slack } from './deliveries.ts';

/** Finds tasks that two leases completed, and runs that two verbs ended, both acknowledged. */
function endedTwice(journal: Journal): Difference[] {
  const differences: Difference[] = [];
  const finals = new Map<string, string>();
  const verbs = new Map<string, End['verb']>();
  for (const { acknowledged, verb, lease, runs, final } of journal.ends) {
    if (acknowledged === undefined) continue;
    for (const id of final) {
      const otherLease = finals.get(id);
      const detail = `done in ${otherLease} and in ${lease}`;
      if (otherLease && otherLease !== lease)
        differences.push({ kind: 'completed twice', task: id, detail });
      finals.set(id, lease);
    }
    for (const { id, run } of runs) {
      const otherVerb = verbs.get(`${lease} ${run}`);
      const detail = `run ${run} of ${lease}: ${otherVerb} and ${verb}`;
      if (otherVerb && otherVerb !== verb)
        differences.push({ kind: 'ended in two ways', task: id, detail });
      verbs.set(`${lease} ${run}`, verb);
    }
  }
  return differences;
}

/** True if `run` is the later of two runs of a task: it has the higher position. The order of claims may differ. */
export const later = (run: string, than: string) => BigInt(run) >> 20n > BigInt(than) >> 20n;

/** Finds tasks that were leased again while their lease had neither expired nor ended, and no crash undid the claim. */
function takenBack(journal: Journal, deliveries: Map<string, Delivery[]>): Difference[] {
  const endsByRun = endsSent(journal);
  const differences: Difference[] = [];
  for (const [task, list] of deliveries) {
    for (const { claim, run } of list) {
      const [next] = list
        .filter((other) => later(other.run.run, run.run))
        .toSorted((a, b) => a.claim.answered - b.claim.answered);
      if (!next || claim.until - slack <= next.claim.answered) continue;
      if (
        (endsByRun.get(`${claim.lease} ${run.run}`) ?? Number.POSITIVE_INFINITY) <=
        next.claim.answered
      )
        continue;
      if (journal.crashes.some((crash) => crash >= claim.sent && crash <= next.claim.answered))
        continue;
      const detail = `leased until ${claim.until}, leased again by ${next.claim.answered}`;
      differences.push({ kind: 'leased again before its time', task, detail });
    }
  }
  return differences;
}

function whilePaused(journal: Journal): Difference[] {
  return journal.pauses.flatMap(({ queue, acknowledged, until }) =>
    journal.claims
      .filter(
        (claim) => claim.queue === queue && claim.sent > acknowledged && claim.answered < until,
      )
      .map(({ lease, sent }) => ({
        kind: 'leased while its queue was paused',
        task: lease,
        detail: `${queue}: at ${sent}, paused from ${acknowledged} to ${until}`,
      })),
  );
}

/** Finds claims that returned other runs when they were repeated, although no crash happened between. */
function repeatedOtherwise(journal: Journal): Difference[] {
  return journal.repeats.flatMap(({ sent, answered, until, first, second }) => {
    const crash = journal.crashes.some((crashedAt) => crashedAt >= sent && crashedAt <= answered);
    if (first === second || crash || answered >= until) return [];
    return [{ kind: 'a repeated claim returned other runs', task: first, detail: second }];
  });
}

/** Each claim is compared with this many claims after it. After an hour, comparing all pairs would take too long. */
const longest = 300;

/** Finds pairs of claims between which more tasks started than the queue's rate allows in that time. */
function overRate(journal: Journal, rates: Bounds['rates']): Difference[] {
  const differences: Difference[] = [];
  for (const [queue, { burst, each }] of Object.entries(rates)) {
    const claims = journal.claims
      .filter((claim) => claim.queue === queue)
      .sort((a, b) => a.sent - b.sent);
    for (const [at, first] of claims.entries()) {
      const since = claims.slice(at, at + longest).sort((a, b) => a.answered - b.answered);
      let started = 0;
      for (const { answered, runs, lease } of since) {
        started += runs.length;
        const allowed = burst + (each * (answered - first.sent + slack)) / 1000 + 1;
        if (started <= allowed) continue;
        const detail = `${queue}: ${started} between ${first.sent} and ${answered}`;
        differences.push({ kind: 'a rate was exceeded', task: lease, detail });
        break;
      }
    }
  }
  return differences;
}

/** Finds keys whose newest task was never leased, although it replaced the older ones. */
function newestLost(journal: Journal): Difference[] {
  const requests = [...journal.requests.values()].filter(
    ({ replaced, fate }) => replaced && fate !== 'none',
  );
  const last = new Map<string, TaskRequest>();
  for (const request of requests) {
    const key = request.unique ?? '';
    if (request.fate === 'sure' && request.n > (last.get(key)?.n ?? 0)) last.set(key, request);
  }
  const leased = new Set(journal.claims.flatMap(({ runs }) => runs.map(({ n }) => n)));
  return [...last].flatMap(([key, { n, call, sent, id }]) => {
    // A call that was not answered before this one was sent may have come later and replaced its task.
    const earlier = requests.filter(
      (candidate) => candidate.unique === key && candidate.call !== call,
    );
    if (leased.has(n) || earlier.some(({ answered = sent }) => answered >= sent)) return [];
    return [
      { kind: 'the newest of a key was lost', task: id ?? '', detail: `${key}: number ${n}` },
    ];
  });
}

/** The checks of ends, and of whole queues. */
export function checkEnds(
  journal: Journal,
  deliveries: Map<string, Delivery[]>,
  { rates }: Bounds,
): Difference[] {
  return [
    ...endedTwice(journal),
    ...takenBack(journal, deliveries),
    ...whilePaused(journal),
    ...repeatedOtherwise(journal),
    ...overRate(journal, rates),
    ...newestLost(journal),
  ];
}
