import type { Claim, Difference, Journal } from '../journal.ts';
import { type Bounds, byTask, type Delivery, endsSent, slack } from './deliveries.ts';
import { judgeEnds } from './ends.ts';

/**
 * A run is leased once. A claim by itself is not flushed to disk before it is answered: after a crash its runs may
 * be leased again.
 */
function doubled(journal: Journal): Difference[] {
  const first = new Map<string, Claim>();
  const found: Difference[] = [];
  for (const claim of journal.claims.toSorted((a, b) => a.sent - b.sent)) {
    for (const { id, run } of claim.runs) {
      const before = first.get(run);
      if (!before) {
        first.set(run, claim);
        continue;
      }
      const crash = journal.crashes.some((at) => at >= before.sent && at <= claim.answered);
      if (before.lease === claim.lease || crash) continue;
      const detail = `run ${run} in lease ${before.lease} and in ${claim.lease}`;
      found.push({ kind: 'a run was handed out twice', task: id, detail });
    }
  }
  return found;
}

function afterItsEnd(journal: Journal, deliveries: Map<string, Delivery[]>): Difference[] {
  const found: Difference[] = [];
  for (const { acknowledged, final, lease } of journal.ends) {
    for (const id of acknowledged === undefined ? [] : final) {
      const late = deliveries.get(id)?.find(({ claim }) => claim.sent > Number(acknowledged));
      if (!late) continue;
      const detail = `done in ${lease} at ${acknowledged}, claimed at ${late.claim.sent} in ${late.claim.lease}`;
      found.push({ kind: 'handed out after its completion', task: id, detail });
    }
  }
  return found;
}

/** A task that had been handed out may come once more: it may have been released while the cancel was open. */
function afterCancel(journal: Journal, deliveries: Map<string, Delivery[]>): Difference[] {
  return journal.cancels.flatMap(({ id, acknowledged }) => {
    const [first] = deliveries.get(id) ?? [];
    if (!first || first.claim.sent <= acknowledged) return [];
    const detail = `cancelled at ${acknowledged}, claimed at ${first.claim.sent}`;
    return [{ kind: 'handed out after it was cancelled', task: id, detail }];
  });
}

function lostChange(journal: Journal, deliveries: Map<string, Delivery[]>): Difference[] {
  return journal.changes.flatMap(({ id, acknowledged, version = 0 }) => {
    const [first] = deliveries.get(id) ?? [];
    if (!first || first.claim.sent <= acknowledged || first.run.version >= version) return [];
    const detail = `change ${version}, handed out with ${first.run.version}`;
    return [{ kind: 'a change was lost', task: id, detail }];
  });
}

/** A task comes neither before its time, nor after it expired, nor before its parents were completed. */
function atItsTime(journal: Journal, deliveries: Map<string, Delivery[]>): Difference[] {
  const tried = new Map<string, number>();
  for (const end of journal.ends) {
    if (end.verb !== 'complete') continue;
    for (const { id } of end.runs) tried.set(id, Math.min(end.sent, tried.get(id) ?? end.sent));
  }
  const found: Difference[] = [];
  for (const request of journal.requests.values()) {
    const [first] = deliveries.get(request.id ?? '') ?? [];
    if (!first) continue;
    const { claim } = first;
    const differ = (kind: string, detail: string) =>
      found.push({ kind, task: request.id ?? '', detail });
    if (request.due !== undefined && claim.answered < request.due - slack)
      differ('handed out before its time', `due ${request.due}, claimed by ${claim.answered}`);
    if (request.expires !== undefined && claim.sent > request.expires + slack)
      differ('handed out after it expired', `until ${request.expires}, claimed at ${claim.sent}`);
    for (const n of request.parents ?? []) {
      const id = journal.requests.get(n)?.id ?? '';
      if ((tried.get(id) ?? Number.POSITIVE_INFINITY) > claim.answered)
        differ('handed out before its parent', `parent ${id}`);
    }
  }
  return found;
}

/** A key that is kept counts until its task has ended: a newer task of it means that the older had ended. */
function doubledKeys(journal: Journal, deliveries: Map<string, Delivery[]>): Difference[] {
  const found: Difference[] = [];
  const last = new Map<string, { id: string; answered: number }>();
  for (const { unique, replaced, queue, id, sent, answered } of journal.requests.values()) {
    if (replaced || !unique || !id || answered === undefined) continue;
    const key = `${queue} ${unique}`;
    const older = last.get(key);
    if (older && older.id !== id && older.answered < sent) {
      const again = deliveries.get(older.id)?.find(({ claim }) => claim.sent > answered);
      const detail = `${key}: handed out at ${again?.claim.sent}, and ${id} was there by ${answered}`;
      if (again) found.push({ kind: 'two tasks of one key', task: older.id, detail });
    }
    if (!older || older.answered < answered) last.set(key, { id, answered });
  }
  return found;
}

/** How many of a concurrency key, or of a queue with a cap, ran for certain when another was handed out: their leases had not ended. */
function overshot(journal: Journal, { limits, caps }: Bounds): Difference[] {
  const concurrency_keys = new Map(
    [...journal.requests.values()].map(({ id, concurrency_key }) => [id, concurrency_key]),
  );
  const ended = endsSent(journal);
  const byConcurrencyKey = new Map<string, Delivery[]>();
  for (const claim of journal.claims) {
    for (const run of claim.runs) {
      const concurrency_key = concurrency_keys.get(run.id);
      if (!concurrency_key && !(claim.queue in caps)) continue;
      const key = `${claim.queue} ${concurrency_key ?? ''}`;
      const list = byConcurrencyKey.get(key) ?? [];
      list.push({ claim, run });
      byConcurrencyKey.set(key, list);
    }
  }
  const insideUntil = ({ claim, run }: Delivery) =>
    Math.min(claim.until, ended.get(`${claim.lease} ${run.run}`) ?? claim.until) - slack;
  const found: Difference[] = [];
  for (const [key, list] of byConcurrencyKey) {
    const [queue = ''] = key.split(' ');
    const limit = limits[queue] ?? caps[queue] ?? 1;
    const inOrder = list.toSorted((a, b) => a.claim.answered - b.claim.answered);
    const longest = Math.max(...list.map(({ claim }) => claim.until - claim.answered));
    let oldest = 0;
    for (const one of list.toSorted((a, b) => a.claim.sent - b.claim.sent)) {
      // What was answered longer ago than any lease lasts is over.
      const since = one.claim.sent - longest;
      while ((inOrder[oldest]?.claim.answered ?? since) < since) oldest++;
      const holders = new Set<string>();
      for (let at = oldest; at < inOrder.length; at++) {
        const other = inOrder[at] as Delivery;
        if (other.claim.answered > one.claim.sent) break;
        if (other.run.id !== one.run.id && insideUntil(other) >= one.claim.answered)
          holders.add(other.run.id);
      }
      // One claim may bring several of them.
      for (const { id } of one.claim.runs)
        if (queue in caps || concurrency_keys.get(id) === concurrency_keys.get(one.run.id))
          holders.add(id);
      if (holders.size <= limit) continue;
      const detail = `${key}, limit ${limit}: ${[...holders].join(', ')} at ${one.claim.sent}`;
      found.push({ kind: 'a concurrency key was overshot', task: one.run.id, detail });
    }
  }
  return found;
}

/** What the claims alone show. */
export function judgeClaims(journal: Journal, bounds: Bounds): Difference[] {
  const deliveries = byTask(journal);
  return [
    ...doubled(journal),
    ...afterItsEnd(journal, deliveries),
    ...afterCancel(journal, deliveries),
    ...lostChange(journal, deliveries),
    ...atItsTime(journal, deliveries),
    ...doubledKeys(journal, deliveries),
    ...overshot(journal, bounds),
    ...judgeEnds(journal, deliveries, bounds),
  ];
}
