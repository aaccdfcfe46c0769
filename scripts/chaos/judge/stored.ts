import type { Difference, Journal, Stored, TaskRequest } from '../journal.ts';

const differ = (kind: string, task: string, detail: string): Difference => ({ kind, task, detail });

function byNumber(stored: Stored[]): Map<number, Stored[]> {
  const found = new Map<number, Stored[]>();
  for (const task of stored) {
    if (task.rerunOf) continue;
    const list = found.get(task.n) ?? [];
    list.push(task);
    found.set(task.n, list);
  }
  return found;
}

/** Each task that was accepted is there once, under the id it was given; of the others none. */
function once(journal: Journal, stored: Stored[]): Difference[] {
  const found: Difference[] = [];
  const numbered = byNumber(stored);
  const ids = new Set(stored.map((task) => task.id));
  for (const { n, fate, id, unique } of journal.requests.values()) {
    const here = numbered.get(n) ?? [];
    const names = here.map((task) => task.id).join(' and ');
    if (here.length > 1) found.push(differ('stored twice', String(n), `as ${names}`));
    if (fate === 'none' && here.length > 0)
      found.push(differ('undone and stored', String(n), `as ${names}`));
    if (fate !== 'sure') continue;
    if (id ? !ids.has(id) : here.length === 0)
      found.push(differ('lost', id ?? String(n), `number ${n}`));
    else if (id && !unique && names !== id)
      found.push(differ('stored under another id', id, `number ${n}: as ${names}`));
  }
  for (const [n, tasks] of numbered) {
    // A schedule's tasks have no number.
    if (n > 0 && !journal.requests.has(n))
      found.push(differ('stored, and nobody asked for it', tasks[0]?.id ?? '', `number ${n}`));
  }
  return found;
}

/** A call of unknown fate is there whole or not at all. */
function whole(journal: Journal, stored: Stored[]): Difference[] {
  const numbered = byNumber(stored);
  const calls = new Map<string, TaskRequest[]>();
  for (const request of journal.requests.values()) {
    // Another task of its key may stand for one.
    if (request.fate === 'unsure' && !request.unique)
      calls.set(request.call, [...(calls.get(request.call) ?? []), request]);
  }
  return [...calls].flatMap(([name, requests]) => {
    const there = requests.filter(({ n }) => numbered.has(n)).length;
    if (there === 0 || there === requests.length) return [];
    return [differ('half a call', name, `${there} of its ${requests.length} tasks are stored`)];
  });
}

function rerunsOnce(journal: Journal, stored: Stored[]): Difference[] {
  const acknowledged = new Set(journal.reruns.map(({ id }) => id));
  const there = new Set(stored.filter((task) => task.rerunOf).map((task) => task.id));
  const lost = [...acknowledged].filter((id) => !there.has(id));
  const added = [...there].filter((id) => !acknowledged.has(id));
  return [
    ...lost.map((id) => differ('a rerun was lost', id, '')),
    ...added.map((id) => differ('a rerun that nobody was told of', id, '')),
  ];
}

/** Each has ended, and in a way that a client or a worker asked for. */
function ended(journal: Journal, stored: Stored[]): Difference[] {
  const completed = new Set<string>();
  const tried = new Set<string>();
  const failed = new Set<string>();
  for (const end of journal.ends) {
    if (end.acknowledged !== undefined) for (const id of end.final) completed.add(id);
    const said = end.verb === 'complete' ? tried : failed;
    for (const { id } of end.runs) said.add(id);
  }
  // The numbers of the tasks that ended well.
  const well = new Set(
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
        parents.some((one) => !well.has(one))
      );
    },
    expired: ({ n }) => journal.requests.get(n)?.expires !== undefined,
  };
  const found: Difference[] = [];
  for (const task of stored) {
    const { id, state } = task;
    const cause = why[state];
    if (!cause) found.push(differ('not ended', id, `it is ${state}`));
    else if (completed.has(id) && state !== 'done')
      found.push(differ('a completion was undone', id, `it is ${state}`));
    else if (task.n > 0 && !cause(task))
      found.push(differ(`${state}, and nobody said so`, id, `number ${task.n}`));
  }
  return found;
}

/** A fire as the schedule's history has it. */
export type Fire = { schedule: string; fire_at: number; outcome: string; task_id: string | null };

/** Each fire comes once, none is missing between two others, and each has its one task. */
export function judgeFires(
  fires: Fire[],
  stored: Stored[],
  everyMs: Record<string, number>,
): Difference[] {
  const found: Difference[] = [];
  const last = new Map<string, number>();
  const fired = new Set<string>();
  const byTask = new Map<string, number>();
  for (const fire of fires.toSorted((a, b) => a.fire_at - b.fire_at)) {
    const { schedule, fire_at, outcome, task_id } = fire;
    if (task_id) byTask.set(task_id, (byTask.get(task_id) ?? 0) + 1);
    const detail = `${schedule} at ${new Date(fire_at).toISOString()}`;
    if (outcome === 'fired' || outcome === 'run') {
      if (fired.has(detail)) found.push(differ('a fire came twice', task_id ?? '', detail));
      fired.add(detail);
    }
    // By hand, beside those of the schedule.
    if (outcome === 'run') continue;
    const before = last.get(schedule) ?? Number.POSITIVE_INFINITY;
    if (fire_at > before + (everyMs[schedule] ?? Number.POSITIVE_INFINITY))
      found.push(differ('a fire is missing', '', `before ${detail}`));
    last.set(schedule, fire_at);
  }
  const tasks = new Set<string>();
  for (const { id, n, rerunOf } of stored) if (n === 0 && !rerunOf) tasks.add(id);
  for (const id of tasks)
    if (byTask.get(id) !== 1)
      found.push(differ("a schedule's task without a fire of its own", id, ''));
  for (const id of byTask.keys())
    if (!tasks.has(id)) found.push(differ('a fire without its task', id, ''));
  return found;
}

/** What was acknowledged against what is stored. */
export function judgeStored(journal: Journal, stored: Stored[]): Difference[] {
  return [
    ...once(journal, stored),
    ...whole(journal, stored),
    ...rerunsOnce(journal, stored),
    ...ended(journal, stored),
  ];
}
