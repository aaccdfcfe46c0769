import type { Difference, End, Journal, TaskRequest } from '../journal.ts';
import { type Bounds, type Delivery, endsSent, slack } from './deliveries.ts';

/** An acknowledged end is final: a task is completed by one lease, and a run is ended by one verb. */
function endedTwice(journal: Journal): Difference[] {
  const found: Difference[] = [];
  const finals = new Map<string, string>();
  const verbs = new Map<string, End['verb']>();
  for (const { acknowledged, verb, lease, runs, final } of journal.ends) {
    if (acknowledged === undefined) continue;
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
function takenBack(journal: Journal, deliveries: Map<string, Delivery[]>): Difference[] {
  const over = endsSent(journal);
  const found: Difference[] = [];
  for (const [task, list] of deliveries) {
    for (const { claim, run } of list) {
      const [next] = list
        .filter((other) => later(other.run.run, run.run))
        .toSorted((a, b) => a.claim.answered - b.claim.answered);
      if (!next || claim.until - slack <= next.claim.answered) continue;
      if (
        (over.get(`${claim.lease} ${run.run}`) ?? Number.POSITIVE_INFINITY) <= next.claim.answered
      )
        continue;
      if (journal.crashes.some((crash) => crash >= claim.sent && crash <= next.claim.answered))
        continue;
      const detail = `leased until ${claim.until}, handed out again by ${next.claim.answered}`;
      found.push({ kind: 'taken back before its time', task, detail });
    }
  }
  return found;
}

function whilePaused(journal: Journal): Difference[] {
  return journal.pauses.flatMap(({ queue, acknowledged, until }) =>
    journal.claims
      .filter(
        (claim) => claim.queue === queue && claim.sent > acknowledged && claim.answered < until,
      )
      .map(({ lease, sent }) => ({
        kind: 'handed out while its queue was paused',
        task: lease,
        detail: `${queue}: at ${sent}, paused from ${acknowledged} to ${until}`,
      })),
  );
}

/** A claim that is repeated with its request id gives the same runs again, unless a crash lay between. */
function repeatedOtherwise(journal: Journal): Difference[] {
  return journal.repeats.flatMap(({ sent, answered, until, first, second }) => {
    const crash = journal.crashes.some((at) => at >= sent && at <= answered);
    if (first === second || crash || answered >= until) return [];
    return [{ kind: 'a repeated claim gave other runs', task: first, detail: second }];
  });
}

/** So many claims in a row are compared with a rate: each with each would take too long after an hour. */
const longest = 300;

/** Between any two claims: how many started for sure since the one was sent, until the other was answered. */
function tooMany(journal: Journal, rates: Bounds['rates']): Difference[] {
  const found: Difference[] = [];
  for (const [queue, { burst, each }] of Object.entries(rates)) {
    const claims = journal.claims
      .filter((claim) => claim.queue === queue)
      .sort((a, b) => a.sent - b.sent);
    for (const [at, first] of claims.entries()) {
      const since = claims.slice(at, at + longest).sort((a, b) => a.answered - b.answered);
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
function newestLost(journal: Journal): Difference[] {
  const requests = [...journal.requests.values()].filter(
    ({ replaced, fate }) => replaced && fate !== 'none',
  );
  const last = new Map<string, TaskRequest>();
  for (const request of requests) {
    const key = request.unique ?? '';
    if (request.fate === 'sure' && request.n > (last.get(key)?.n ?? 0)) last.set(key, request);
  }
  const given = new Set(journal.claims.flatMap(({ runs }) => runs.map(({ n }) => n)));
  return [...last].flatMap(([key, { n, call, sent, id }]) => {
    // One that was never answered may have come after it.
    const others = requests.filter((one) => one.unique === key && one.call !== call);
    if (given.has(n) || others.some(({ answered = sent }) => answered >= sent)) return [];
    return [
      { kind: 'the newest of a key was lost', task: id ?? '', detail: `${key}: number ${n}` },
    ];
  });
}

/** What the ends show, and what is said of whole queues. */
export function judgeEnds(
  journal: Journal,
  deliveries: Map<string, Delivery[]>,
  { rates }: Bounds,
): Difference[] {
  return [
    ...endedTwice(journal),
    ...takenBack(journal, deliveries),
    ...whilePaused(journal),
    ...repeatedOtherwise(journal),
    ...tooMany(journal, rates),
    ...newestLost(journal),
  ];
}
