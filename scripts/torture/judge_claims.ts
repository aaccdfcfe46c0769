import type { Claim, Difference, Facts, Given } from './facts.ts';
import { judgeEnds } from './judge_ends.ts';

/** The clocks of the machine's processes and of the database are one; this is for their rounding. */
export const slack = 5;

export type Handed = { claim: Claim; run: Given };

/** Every handing out of a task, in order. */
function byTask(facts: Facts): Map<string, Handed[]> {
  const found = new Map<string, Handed[]>();
  for (const claim of facts.claims.toSorted((a, b) => a.sent - b.sent)) {
    for (const run of claim.runs) {
      const list = found.get(run.id) ?? [];
      list.push({ claim, run });
      found.set(run.id, list);
    }
  }
  return found;
}

/**
 * A run is leased once. A claim by itself isn't flushed to disk before it is answered, so one that a crash
 * took back may come again.
 */
function doubled(facts: Facts): Difference[] {
  const first = new Map<string, Claim>();
  const found: Difference[] = [];
  for (const claim of facts.claims.toSorted((a, b) => a.sent - b.sent)) {
    for (const { id, run } of claim.runs) {
      const before = first.get(run);
      if (!before) {
        first.set(run, claim);
        continue;
      }
      const crash = facts.crashes.some((at) => at >= before.sent && at <= claim.answered);
      if (before.lease === claim.lease || crash) continue;
      const detail = `run ${run} in lease ${before.lease} and in ${claim.lease}`;
      found.push({ kind: 'a run was handed out twice', task: id, detail });
    }
  }
  return found;
}

function afterItsEnd(facts: Facts, handed: Map<string, Handed[]>): Difference[] {
  const found: Difference[] = [];
  for (const { told, final, lease } of facts.ends) {
    for (const id of told === undefined ? [] : final) {
      const late = handed.get(id)?.find(({ claim }) => claim.sent > Number(told));
      if (!late) continue;
      const detail = `done in ${lease} at ${told}, claimed at ${late.claim.sent} in ${late.claim.lease}`;
      found.push({ kind: 'handed out after its completion', task: id, detail });
    }
  }
  return found;
}

/** One that had been handed out may come once more: it may have been given back while the wish was open. */
function afterCancel(facts: Facts, handed: Map<string, Handed[]>): Difference[] {
  return facts.cancels.flatMap(({ id, told }) => {
    const [first] = handed.get(id) ?? [];
    if (!first || first.claim.sent <= told) return [];
    const detail = `cancelled at ${told}, claimed at ${first.claim.sent}`;
    return [{ kind: 'handed out after it was cancelled', task: id, detail }];
  });
}

function lostChange(facts: Facts, handed: Map<string, Handed[]>): Difference[] {
  return facts.changes.flatMap(({ id, told, version = 0 }) => {
    const [first] = handed.get(id) ?? [];
    if (!first || first.claim.sent <= told || first.run.version >= version) return [];
    const detail = `change ${version}, handed out with ${first.run.version}`;
    return [{ kind: 'a change was lost', task: id, detail }];
  });
}

/** Neither before its time, nor after it expired, nor before those it comes after were completed. */
function atItsTime(facts: Facts, handed: Map<string, Handed[]>): Difference[] {
  const tried = new Map<string, number>();
  for (const end of facts.ends) {
    if (end.verb !== 'complete') continue;
    for (const { id } of end.runs) tried.set(id, Math.min(end.sent, tried.get(id) ?? end.sent));
  }
  const found: Difference[] = [];
  for (const ask of facts.asks.values()) {
    const [first] = handed.get(ask.id ?? '') ?? [];
    if (!first) continue;
    const { claim } = first;
    const differ = (kind: string, detail: string) =>
      found.push({ kind, task: ask.id ?? '', detail });
    if (ask.due !== undefined && claim.answered < ask.due - slack)
      differ('handed out before its time', `due ${ask.due}, claimed by ${claim.answered}`);
    if (ask.expires !== undefined && claim.sent > ask.expires + slack)
      differ('handed out after it expired', `until ${ask.expires}, claimed at ${claim.sent}`);
    for (const n of ask.parents ?? []) {
      const id = facts.asks.get(n)?.id ?? '';
      if ((tried.get(id) ?? Number.POSITIVE_INFINITY) > claim.answered)
        differ('handed out before its parent', `parent ${id}`);
    }
  }
  return found;
}

/** A key that is kept counts until its task has ended: a newer task of it means that the older had ended. */
function doubledKeys(facts: Facts, handed: Map<string, Handed[]>): Difference[] {
  const found: Difference[] = [];
  const last = new Map<string, { id: string; answered: number }>();
  for (const { unique, replaced, queue, id, sent, answered } of facts.asks.values()) {
    if (replaced || !unique || !id || answered === undefined) continue;
    const key = `${queue} ${unique}`;
    const older = last.get(key);
    if (older && older.id !== id && older.answered < sent) {
      const again = handed.get(older.id)?.find(({ claim }) => claim.sent > answered);
      const detail = `${key}: handed out at ${again?.claim.sent}, and ${id} was there by ${answered}`;
      if (again) found.push({ kind: 'two tasks of one key', task: older.id, detail });
    }
    if (!older || older.answered < answered) last.set(key, { id, answered });
  }
  return found;
}

export type Bounds = {
  limits: Record<string, number>;
  caps: Record<string, number>;
  rates: Record<string, { burst: number; each: number }>;
};

/** How many of a gate, or a queue with a cap, were inside for sure when another was handed out: their leases had not ended. */
function overshot(facts: Facts, { limits, caps }: Bounds): Difference[] {
  const gates = new Map([...facts.asks.values()].map((ask) => [ask.id, ask.gate]));
  const over = new Map<string, number>();
  for (const { lease, sent, runs } of facts.ends) {
    for (const { run } of runs) {
      const key = `${lease} ${run}`;
      over.set(key, Math.min(sent, over.get(key) ?? sent));
    }
  }
  const byGate = new Map<string, Handed[]>();
  for (const claim of facts.claims) {
    for (const run of claim.runs) {
      const gate = gates.get(run.id);
      if (!gate && !(claim.queue in caps)) continue;
      const key = `${claim.queue} ${gate ?? ''}`;
      byGate.set(key, [...(byGate.get(key) ?? []), { claim, run }]);
    }
  }
  const insideUntil = ({ claim, run }: Handed) =>
    Math.min(claim.until, over.get(`${claim.lease} ${run.run}`) ?? claim.until) - slack;
  const found: Difference[] = [];
  for (const [key, handed] of byGate) {
    const [queue = ''] = key.split(' ');
    const limit = limits[queue] ?? caps[queue] ?? 1;
    for (const one of handed) {
      const inside = new Set(
        handed
          .filter((other) => other.run.id !== one.run.id && other.claim.answered <= one.claim.sent)
          .filter((other) => insideUntil(other) >= one.claim.answered)
          .map((other) => other.run.id),
      );
      // One claim may bring several of them.
      for (const { id } of one.claim.runs)
        if (queue in caps || gates.get(id) === gates.get(one.run.id)) inside.add(id);
      if (inside.size <= limit) continue;
      const detail = `${key}, limit ${limit}: ${[...inside].join(', ')} at ${one.claim.sent}`;
      found.push({ kind: 'a gate was overshot', task: one.run.id, detail });
    }
  }
  return found;
}

/** What the claims alone show. */
export function judgeClaims(facts: Facts, bounds: Bounds): Difference[] {
  const handed = byTask(facts);
  return [
    ...doubled(facts),
    ...afterItsEnd(facts, handed),
    ...afterCancel(facts, handed),
    ...lostChange(facts, handed),
    ...atItsTime(facts, handed),
    ...doubledKeys(facts, handed),
    ...overshot(facts, bounds),
    ...judgeEnds(facts, handed, bounds),
  ];
}
