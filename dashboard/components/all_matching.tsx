import { useEffect, useRef, useState } from 'preact/hooks';
import type { Answer, Query } from '../../client/wire.ts';
import { call, Refused } from '../api.ts';
import { count, plural } from '../format.ts';
import { useMay, useSession } from '../session.tsx';
import type { Changeable } from '../task_changes.ts';
import { BackgroundChanges } from './in_background.tsx';
import { Problem } from './panel.tsx';
import { ChangeButtons } from './task_changes.tsx';

/** The most tasks that one change takes. */
const MOST = 100_000;
const MOST_PAGE = 1000;

type Matching = { tasks: Changeable[]; busy: boolean; hasMore: boolean; error: Refused | null };

function statesOf(tasks: Changeable[]): string {
  const counts = new Map<string, number>();
  for (const { state } of tasks) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, n]) => `${count(n)} ${state}`).join(', ');
}

/** All tasks that match a filter: how many there are, and then what the key may do with them. */
export function AllMatching({
  filter,
  label,
  isOffered,
}: {
  /** Without it there is no button that begins. What has begun stays. */
  isOffered: boolean;
  filter: Query<'GET /v1/tasks'>;
  /** The label of the button that counts them. */
  label: string;
}) {
  const { key } = useSession();
  const may = useMay();
  const [matching, setMatching] = useState<Matching | null>(null);
  const control = useRef<AbortController | null>(null);
  useEffect(() => () => control.current?.abort(), []);

  const collect = async () => {
    control.current = new AbortController();
    const { signal } = control.current;
    const tasks: Changeable[] = [];
    let cursor: string | null = null;
    let answered = false;
    const shown = (busy: boolean, error: Refused | null = null) => {
      // A search by concurrency key has one page.
      const isCut = filter.concurrency_key && tasks.length >= MOST_PAGE;
      setMatching({
        tasks: [...tasks],
        busy,
        hasMore: !answered || cursor !== null || !!isCut,
        error,
      });
    };
    shown(true);
    try {
      do {
        const query = {
          ...filter,
          cursor,
          limit: Math.min(MOST_PAGE, MOST - tasks.length),
        };
        const page: Answer<'GET /v1/tasks'> = await call(
          key,
          'GET /v1/tasks',
          { query },
          { signal },
        );
        for (const { id, queue, state, rerun } of page.tasks)
          tasks.push({ id, queue, state, rerun });
        cursor = page.cursor;
        answered = true;
        shown(true);
      } while (cursor !== null && tasks.length < MOST);
      shown(false);
    } catch (thrown) {
      if (signal.aborted && !(thrown instanceof Refused)) return shown(false);
      shown(false, thrown instanceof Refused ? thrown : new Refused(0, { detail: String(thrown) }));
    }
  };

  if (!matching)
    return isOffered ? (
      <p class="buttons">
        <button type="button" onClick={() => void collect()}>
          {label}
        </button>
      </p>
    ) : null;
  const { tasks, busy, hasMore, error } = matching;
  const close = () => {
    control.current?.abort();
    setMatching(null);
  };
  const number = plural(tasks.length, 'task matches', 'tasks match');
  const summary = () => {
    if (busy) return `Looking: ${number} so far`;
    if (!hasMore) return number;
    return tasks.length < MOST
      ? `At least ${number}`
      : `More match: these are the first ${count(MOST)}`;
  };
  return (
    <>
      <BackgroundChanges filter={filter} />
      <fieldset class="buttons selection" aria-label="All that match">
        <strong role="status">{summary()}</strong>
        {tasks.length > 0 && <span>{statesOf(tasks)}</span>}
        {error && <Problem error={error} />}
        {busy ? (
          <button type="button" onClick={() => control.current?.abort()}>
            Stop
          </button>
        ) : (
          <>
            <ChangeButtons
              tasks={tasks.filter(({ queue }) => may('enqueue', queue))}
              onDone={close}
            />
            <button type="button" onClick={close}>
              Close
            </button>
          </>
        )}
      </fieldset>
    </>
  );
}
