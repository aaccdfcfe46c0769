import type { Claim, Difference, Journal } from '../journal.ts';
import { type Bounds, type Delivery, deliveriesByTask, endsSent, slack } from './deliveries.ts';
import { checkEnds } from './ends.ts';
import { checkSteps } from './steps.ts';

/**
 * Finds runs that were leased twice. A claim is answered before it is flushed to disk, so after a crash its runs may be
 * leased again; that is no difference.
 */
function doubled(journal: Journal): Difference[] {
  const first = new Map<string, Claim>();
  const differences: Difference[] = [];
  for (const claim of journal.claims.toSorted((a, b) => a.sent - b.sent)) {
    for (const { id, run } of claim.runs) {
      const before = first.get(run);
      if (!before) {
        first.set(run, claim);
        continue;
      }
      const crash = journal.crashes.some(
        (crashedAt) => crashedAt >= before.sent && crashedAt <= claim.answered,
      );
      if (before.lease === claim.lease || crash) continue;
      const detail = `run ${run} in lease ${before.lease} and in ${claim.lease}`;
      differences.push({ kind: 'a run was leased twice', task: id, detail });
    }
  }
  return differences;
}

function afterItsEnd(journal: Journal, deliveries: Map<string, Delivery[]>): Difference[] {
  const differences: Difference[] = [];
  for (const { acknowledged, final, lease } of journal.ends) {
    for (const id of acknowledged === undefined ? [] : final) {
      const lateDelivery = deliveries
        .get(id)
        ?.find(({ claim }) => claim.sent > Number(acknowledged));
      if (!lateDelivery) continue;
      const detail = `done in ${lease} at ${acknowledged}, claimed at ${lateDelivery.claim.sent} in ${lateDelivery.claim.lease}`;
      differences.push({ kind: 'leased after its completion', task: id, detail });
    }
  }
  return differences;
}

/**
 * Finds tasks that were first leased after their cancel was acknowledged. A task that was leased before may be leased
 * again, because it may have been released before the cancel committed.
 */
function afterCancel(journal: Journal, deliveries: Map<string, Delivery[]>): Difference[] {
  return journal.cancels.flatMap(({ id, acknowledged }) => {
    const [first] = deliveries.get(id) ?? [];
    if (!first || first.claim.sent <= acknowledged) return [];
    const detail = `cancelled at ${acknowledged}, claimed at ${first.claim.sent}`;
    return [{ kind: 'leased after it was cancelled', task: id, detail }];
  });
}

function lostChange(journal: Journal, deliveries: Map<string, Delivery[]>): Difference[] {
  return journal.changes.flatMap(({ id, acknowledged, version = 0 }) => {
    const [first] = deliveries.get(id) ?? [];
    if (!first || first.claim.sent <= acknowledged || first.run.version >= version) return [];
    const detail = `change ${version}, leased with ${first.run.version}`;
    return [{ kind: 'a change was lost', task: id, detail }];
  });
}

/** Finds tasks that were leased before their time, after they expired, or before their parents were completed. */
function claimedInTime(journal: Journal, deliveries: Map<string, Delivery[]>): Difference[] {
  const tried = new Map<string, number>();
  for (const end of journal.ends) {
    if (end.verb !== 'complete') continue;
    for (const { id } of end.runs) tried.set(id, Math.min(end.sent, tried.get(id) ?? end.sent));
  }
  const differences: Difference[] = [];
  for (const request of journal.requests.values()) {
    const [first] = deliveries.get(request.id ?? '') ?? [];
    if (!first) continue;
    const { claim } = first;
    const differ = (kind: string, detail: string) =>
      differences.push({ kind, task: request.id ?? '', detail });
    if (request.due !== undefined && claim.answered < request.due - slack)
      differ('leased before its time', `due ${request.due}, claimed by ${claim.answered}`);
    if (request.expires !== undefined && claim.sent > request.expires + slack)
      differ('leased after it expired', `until ${request.expires}, claimed at ${claim.sent}`);
    for (const n of request.parents ?? []) {
      const id = journal.requests.get(n)?.id ?? '';
      if ((tried.get(id) ?? Number.POSITIVE_INFINITY) > claim.answered)
        differ('leased before its parent', `parent ${id}`);
    }
  }
  return differences;
}

/** Finds tasks that were leased after a newer task got their unique key, which means that they had ended. */
function doubledKeys(journal: Journal, deliveries: Map<string, Delivery[]>): Difference[] {
  const differences: Difference[] = [];
  const last = new Map<string, { id: string; answered: number }>();
  for (const { unique, replaced, queue, id, sent, answered } of journal.requests.values()) {
    if (replaced || !unique || !id || answered === undefined) continue;
    const key = `${queue} ${unique}`;
    const older = last.get(key);
    if (older && older.id !== id && older.answered < sent) {
      const laterDelivery = deliveries.get(older.id)?.find(({ claim }) => claim.sent > answered);
      const detail = `${key}: leased at ${laterDelivery?.claim.sent}, and ${id} was stored by ${answered}`;
      if (laterDelivery) differences.push({ kind: 'two tasks of one key', task: older.id, detail });
    }
    if (!older || older.answered < answered) last.set(key, { id, answered });
  }
  return differences;
}

/**
 * Finds claims that exceeded the limit of a concurrency key or a queue. It counts the tasks that certainly ran when
 * another was leased, because their leases had not ended.
 */
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
  const heldUntil = ({ claim, run }: Delivery) =>
    Math.min(claim.until, ended.get(`${claim.lease} ${run.run}`) ?? claim.until) - slack;
  const differences: Difference[] = [];
  for (const [key, list] of byConcurrencyKey) {
    const [queue = ''] = key.split(' ');
    const limit = limits[queue] ?? caps[queue] ?? 1;
    const ordered = list.toSorted((a, b) => a.claim.answered - b.claim.answered);
    const longest = Math.max(...list.map(({ claim }) => claim.until - claim.answered));
    let oldest = 0;
    for (const delivery of list.toSorted((a, b) => a.claim.sent - b.claim.sent)) {
      // Older claims are skipped: no lease lasts longer than `longest`.
      const earliest = delivery.claim.sent - longest;
      while ((ordered[oldest]?.claim.answered ?? earliest) < earliest) oldest++;
      const holders = new Set<string>();
      for (let at = oldest; at < ordered.length; at++) {
        const otherDelivery = ordered[at] as Delivery;
        if (otherDelivery.claim.answered > delivery.claim.sent) break;
        if (
          otherDelivery.run.id !== delivery.run.id &&
          heldUntil(otherDelivery) >= delivery.claim.answered
        )
          holders.add(otherDelivery.run.id);
      }
      // The claim itself may contain several tasks of the key.
      for (const { id } of delivery.claim.runs)
        if (queue in caps || concurrency_keys.get(id) === concurrency_keys.get(delivery.run.id))
          holders.add(id);
      if (holders.size <= limit) continue;
      const detail = `${key}, limit ${limit}: ${[...holders].join(', ')} at ${delivery.claim.sent}`;
      differences.push({ kind: 'a concurrency limit was exceeded', task: delivery.run.id, detail });
    }
  }
  return differences;
}

/** The checks that need only the claims. */
export function checkClaims(journal: Journal, bounds: Bounds): Difference[] {
  const deliveries = deliveriesByTask(journal);
  return [
    ...doubled(journal),
    ...afterItsEnd(journal, deliveries),
    ...afterCancel(journal, deliveries),
    ...lostChange(journal, deliveries),
    ...claimedInTime(journal, deliveries),
    ...doubledKeys(journal, deliveries),
    ...overshot(journal, bounds),
    ...checkEnds(journal, deliveries, bounds),
    ...checkSteps(journal, deliveries),
  ];
}
