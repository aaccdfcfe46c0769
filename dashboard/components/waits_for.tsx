import type { Answer } from '../../client/wire.ts';
import { exactTime, plural } from '../format.ts';
import { usePolling } from '../polling.ts';
import { href } from '../route.ts';
import { useSession } from '../session.tsx';
import { TaskLink } from './state.tsx';
import type { Step } from './steps.tsx';

type TaskAnswer = Answer<'GET /v1/tasks/{id}'>;
type Counts = Record<string, number>;

/** What a waiting task waits for. */
export type Reason =
  | { of: 'step'; step: Step }
  | { of: 'parents'; tasks: number }
  | { of: 'time'; at: string }
  | { of: 'key'; key: string };

/** What a task waits for, by what its page has loaded; null if that does not say it. */
export function reasonOf(
  { state, run_at, options }: TaskAnswer,
  steps: Step[] | undefined,
  parents: Counts | null | undefined,
): Reason | null {
  if (state !== 'waiting' || !steps) return null;
  const open = steps.filter((step) => step.state === 'waiting' || step.state === 'retrying');
  const step = open.find(({ child_id }) => child_id !== null) ?? open.find(({ event }) => event);
  if (step) return { of: 'step', step };
  const { depends_on, on_parent_failure, concurrency_key } = (options ?? {}) as Record<
    string,
    unknown
  >;
  if (depends_on && !parents) return null;
  const blocking = ['running', 'ready', 'waiting'].concat(
    on_parent_failure === 'wait' ? ['dead', 'cancelled', 'expired'] : [],
  );
  const tasks = blocking.reduce((sum, name) => sum + (parents?.[name] ?? 0), 0);
  if (tasks > 0) return { of: 'parents', tasks };
  const isDue = run_at === null || Date.parse(run_at) <= Date.now();
  if (!isDue) return { of: 'time', at: run_at };
  // A key of some queues or tenants may not see the parents.
  const isKnown = !depends_on || Object.values(parents ?? {}).some((n) => n > 0);
  return isKnown && typeof concurrency_key === 'string'
    ? { of: 'key', key: concurrency_key }
    : null;
}

/** A concurrency key with the tasks that hold it. A key of some tenants may not see them. */
function Key({ queue, name }: { queue: string; name: string }) {
  const { keyInfo } = useSession();
  const path = { queue, concurrency_key: name };
  const { data } = usePolling(
    'GET /v1/queues/{queue}/concurrency-keys/{concurrency_key}',
    keyInfo.tenants === null ? { path } : null,
    5000,
  );
  const [holder, ...others] = data?.holders ?? [];
  return (
    <>
      for the concurrency key <a href={href(['tasks'], { queue, concurrency_key: name })}>{name}</a>
      {data?.paused && ', which is paused'}
      {holder && (
        <>
          , held by task <TaskLink id={holder} />
          {others.length > 0 && ` and ${plural(others.length, 'other')}`}
        </>
      )}
    </>
  );
}

/** What a waiting task waits for, after the word "waiting". */
export function WaitsFor({ reason, queue }: { reason: Reason; queue: string }) {
  if (reason.of === 'key') return <Key queue={queue} name={reason.key} />;
  if (reason.of === 'time') return <>until {exactTime(reason.at)}</>;
  if (reason.of === 'parents') return <>for {plural(reason.tasks, 'parent')}</>;
  const { child_id, event } = reason.step;
  if (child_id === null) return <>for the event {event}</>;
  return (
    <>
      for task <TaskLink id={child_id} />
    </>
  );
}
