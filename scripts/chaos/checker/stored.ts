import type { Difference, Journal, Stored, TaskRequest } from '../journal.ts';

const differ = (kind: string, task: string, detail: string): Difference => ({ kind, task, detail });

function byNumber(stored: Stored[]): Map<number, Stored[]> {
  const differences = new Map<number, Stored[]>();
  for (const task of stored) {
    if (task.rerunOf) continue;
    const list = differences.get(task.n) ?? [];
    list.push(task);
    differences.set(task.n, list);
  }
  return differences;
}

/** Finds accepted tasks that are not stored exactly once, under the answered id, and stored tasks without a request. */
function storedOnce(journal: Journal, stored: Stored[]): Difference[] {
  const differences: Difference[] = [];
  const numbered = byNumber(stored);
  const ids = new Set(stored.map((task) => task.id));
  for (const { n, fate, id, unique } of journal.requests.values()) {
    const sameNumber = numbered.get(n) ?? [];
    const names = sameNumber.map((task) => task.id).join(' and ');
    if (sameNumber.length > 1) differences.push(differ('stored twice', String(n), `as ${names}`));
    if (fate === 'none' && sameNumber.length > 0)
      differences.push(differ('undone but stored', String(n), `as ${names}`));
    if (fate !== 'sure') continue;
    if (id ? !ids.has(id) : sameNumber.length === 0)
      differences.push(differ('lost', id ?? String(n), `number ${n}`));
    else if (id && !unique && names !== id)
      differences.push(differ('stored under another id', id, `number ${n}: as ${names}`));
  }
  for (const [n, tasks] of numbered) {
    // Tasks of schedules have no number, so they are 0 here.
    if (n > 0 && !journal.requests.has(n))
      differences.push(differ('stored without a request', tasks[0]?.id ?? '', `number ${n}`));
  }
  return differences;
}

/** Finds calls without an answer of which only some tasks are stored. */
function storedCompletely(journal: Journal, stored: Stored[]): Difference[] {
  const numbered = byNumber(stored);
  const calls = new Map<string, TaskRequest[]>();
  for (const request of journal.requests.values()) {
    // A task with a unique key may be absent, because another task holds the key.
    if (request.fate === 'unsure' && !request.unique)
      calls.set(request.call, [...(calls.get(request.call) ?? []), request]);
  }
  return [...calls].flatMap(([name, requests]) => {
    const storedCount = requests.filter(({ n }) => numbered.has(n)).length;
    if (storedCount === 0 || storedCount === requests.length) return [];
    return [
      differ('half a call', name, `${storedCount} of its ${requests.length} tasks are stored`),
    ];
  });
}

function rerunsOnce(journal: Journal, stored: Stored[]): Difference[] {
  const acknowledged = new Set(journal.reruns.map(({ id }) => id));
  const storedIds = new Set(stored.filter((task) => task.rerunOf).map((task) => task.id));
  const lost = [...acknowledged].filter((id) => !storedIds.has(id));
  const added = [...storedIds].filter((id) => !acknowledged.has(id));
  return [
    ...lost.map((id) => differ('a rerun was lost', id, '')),
    ...added.map((id) => differ('a rerun that no client got in an answer', id, '')),
  ];
}

/** Finds tasks that ended in a state that no client and no worker requested. */
function endedAsRequested(journal: Journal, stored: Stored[]): Difference[] {
  const completed = new Set<string>();
  const tried = new Set<string>();
  const failed = new Set<string>();
  for (const end of journal.ends) {
    if (end.acknowledged !== undefined) for (const id of end.final) completed.add(id);
    const reported = end.verb === 'complete' ? tried : failed;
    for (const { id } of end.runs) reported.add(id);
  }
  // The numbers of the tasks that were completed.
  const completedNumbers = new Set(
    stored.flatMap(({ n, state, rerunOf }) => (state === 'done' && !rerunOf ? [n] : [])),
  );
  const why: Record<string, (task: Stored) => boolean | undefined> = {
    done: ({ id }) => tried.has(id),
    dead: ({ id }) => failed.has(id),
    cancelled: ({ id, n }) => {
      const { unwanted, replaced, parents = [] } = journal.requests.get(n) ?? {};
      return (
        journal.cancelWanted.has(id) ||
        unwanted ||
        replaced ||
        parents.some((parent) => !completedNumbers.has(parent))
      );
    },
    expired: ({ n }) => journal.requests.get(n)?.expires !== undefined,
  };
  const differences: Difference[] = [];
  for (const task of stored) {
    const { id, state } = task;
    const cause = why[state];
    if (!cause) differences.push(differ('not ended', id, `it is ${state}`));
    else if (completed.has(id) && state !== 'done')
      differences.push(differ('a completion was undone', id, `it is ${state}`));
    else if (task.n > 0 && !cause(task))
      differences.push(differ(`${state}, without a request for it`, id, `number ${task.n}`));
  }
  return differences;
}

/** A fire in the schedule's history. */
export type Fire = { schedule: string; fire_at: number; outcome: string; task_id: string | null };

/** Finds fires that happened twice, fires that are missing between two others, and fires without exactly one task. */
export function checkFires(
  fires: Fire[],
  stored: Stored[],
  everyMs: Record<string, number>,
): Difference[] {
  const differences: Difference[] = [];
  const last = new Map<string, number>();
  const fired = new Set<string>();
  const byTask = new Map<string, number>();
  for (const fire of fires.toSorted((a, b) => a.fire_at - b.fire_at)) {
    const { schedule, fire_at, outcome, task_id } = fire;
    if (task_id) byTask.set(task_id, (byTask.get(task_id) ?? 0) + 1);
    const detail = `${schedule} at ${new Date(fire_at).toISOString()}`;
    if (outcome === 'fired' || outcome === 'run') {
      if (fired.has(detail)) differences.push(differ('a fire came twice', task_id ?? '', detail));
      fired.add(detail);
    }
    // Manual fires don't belong to the schedule's times.
    if (outcome === 'run') continue;
    const previous = last.get(schedule) ?? Number.POSITIVE_INFINITY;
    if (fire_at > previous + (everyMs[schedule] ?? Number.POSITIVE_INFINITY))
      differences.push(differ('a fire is missing', '', `before ${detail}`));
    last.set(schedule, fire_at);
  }
  const tasks = new Set<string>();
  for (const { id, n, rerunOf } of stored) if (n === 0 && !rerunOf) tasks.add(id);
  for (const id of tasks)
    if (byTask.get(id) !== 1)
      differences.push(differ("a schedule's task without its fire", id, ''));
  for (const id of byTask.keys())
    if (!tasks.has(id)) differences.push(differ('a fire without its task', id, ''));
  return differences;
}

/** Compares acknowledged calls with stored tasks. */
export function checkStored(journal: Journal, stored: Stored[]): Difference[] {
  return [
    ...storedOnce(journal, stored),
    ...storedCompletely(journal, stored),
    ...rerunsOnce(journal, stored),
    ...endedAsRequested(journal, stored),
  ];
}
