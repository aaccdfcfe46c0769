import type { Ask, Difference, Facts } from './facts.ts';

/** A task as the database has it when all has ended; n is the number in its payload, as it began. */
export type Stored = { id: string; n: number; state: string; rerunOf: string | null };

const differ = (kind: string, task: string, detail: string): Difference => ({ kind, task, detail });

function byNumber(stored: Stored[]): Map<number, Stored[]> {
  const found = new Map<number, Stored[]>();
  for (const task of stored) {
    if (task.rerunOf) continue;
    found.set(task.n, [...(found.get(task.n) ?? []), task]);
  }
  return found;
}

/** Each task that was accepted is there once, under the id it was given; of the others none. */
function once(facts: Facts, stored: Stored[]): Difference[] {
  const found: Difference[] = [];
  const numbered = byNumber(stored);
  const ids = new Set(stored.map((task) => task.id));
  for (const { n, fate, id, unique } of facts.asks.values()) {
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
    // Of a schedule's no number is asked for.
    if (n > 0 && !facts.asks.has(n))
      found.push(differ('stored, and nobody asked for it', tasks[0]?.id ?? '', `number ${n}`));
  }
  return found;
}

/** A call of unknown fate is there whole or not at all. */
function whole(facts: Facts, stored: Stored[]): Difference[] {
  const numbered = byNumber(stored);
  const calls = new Map<string, Ask[]>();
  for (const ask of facts.asks.values()) {
    // Of a key's tasks another may stand for one.
    if (ask.fate === 'unsure' && !ask.unique)
      calls.set(ask.call, [...(calls.get(ask.call) ?? []), ask]);
  }
  return [...calls].flatMap(([name, asks]) => {
    const there = asks.filter(({ n }) => numbered.has(n)).length;
    if (there === 0 || there === asks.length) return [];
    return [differ('half a call', name, `${there} of its ${asks.length} tasks are stored`)];
  });
}

function rerunsOnce(facts: Facts, stored: Stored[]): Difference[] {
  const told = new Set(facts.reruns.map(({ id }) => id));
  const there = new Set(stored.filter((task) => task.rerunOf).map((task) => task.id));
  const lost = [...told].filter((id) => !there.has(id));
  const added = [...there].filter((id) => !told.has(id));
  return [
    ...lost.map((id) => differ('a rerun was lost', id, '')),
    ...added.map((id) => differ('a rerun that nobody was told of', id, '')),
  ];
}

/** Each has ended, and as somebody said. */
function ended(facts: Facts, stored: Stored[]): Difference[] {
  const told = new Set<string>();
  const tried = new Set<string>();
  const failed = new Set<string>();
  for (const end of facts.ends) {
    if (end.told !== undefined) for (const id of end.final) told.add(id);
    const said = end.verb === 'complete' ? tried : failed;
    for (const { id } of end.runs) said.add(id);
  }
  // Of the tasks by number: those that ended well.
  const well = new Set(
    stored.flatMap(({ n, state, rerunOf }) => (state === 'done' && !rerunOf ? [n] : [])),
  );
  const why: Record<string, (task: Stored) => boolean | undefined> = {
    done: ({ id }) => tried.has(id),
    dead: ({ id }) => failed.has(id),
    cancelled: ({ id, n }) => {
      const { unwanted, replaced, parents = [] } = facts.asks.get(n) ?? {};
      return facts.wanted.has(id) || unwanted || replaced || parents.some((one) => !well.has(one));
    },
    expired: ({ n }) => facts.asks.get(n)?.expires !== undefined,
  };
  const found: Difference[] = [];
  for (const task of stored) {
    const { id, state } = task;
    const cause = why[state];
    if (!cause) found.push(differ('not ended', id, `it is ${state}`));
    else if (told.has(id) && state !== 'done')
      found.push(differ('a completion was undone', id, `it is ${state}`));
    else if (task.n > 0 && !cause(task))
      found.push(differ(`${state}, and nobody said so`, id, `number ${task.n}`));
  }
  return found;
}

/** What was said against what is stored. */
export function judgeStored(facts: Facts, stored: Stored[]): Difference[] {
  return [
    ...once(facts, stored),
    ...whole(facts, stored),
    ...rerunsOnce(facts, stored),
    ...ended(facts, stored),
  ];
}
