import { count } from '../format.ts';
import { usePolling } from '../polling.ts';
import { type Address, href } from '../route.ts';
import { Panel, PolledContent } from './panel.tsx';
import { SelectableTasks } from './selection.tsx';
import { Since, Updated } from './times.tsx';

/** The counts of a queue. Ended tasks other than dead ones are not counted. */
export type Counts = {
  ready: number;
  running: number;
  waiting: number;
  dead: number;
  oldest_ready_at: string | null;
};

const states = ['ready', 'running', 'waiting', 'dead', 'done', 'cancelled', 'expired'] as const;
type State = (typeof states)[number];

const SHOWN = 20;
const hints: Partial<Record<State, string>> = {
  ready: 'No task is ready.',
  running: 'No task is running: a worker claims a task with tock work, or over HTTP.',
  waiting: 'No task waits for its time, a concurrency key or other tasks.',
  dead: 'No task is dead.',
};

/** The newest tasks of a queue in one state, with a tab for each state. */
export function QueueTasks({
  queue,
  counts,
  address,
}: {
  queue: string;
  counts: Counts;
  address: Address;
}) {
  const wanted = address.query.get('state');
  const state = states.find((name) => name === wanted) ?? 'ready';
  const range = address.query.get('range') ?? undefined;
  const polled = usePolling('GET /v1/tasks', { query: { queue, state, limit: SHOWN } }, 5000);
  return (
    <Panel title="Tasks" side={<Updated at={polled.at} />}>
      <nav class="tabs" aria-label="Tasks by state">
        {states.map((name) => (
          <a
            key={name}
            href={href(['queues', queue], { state: name, range })}
            aria-current={name === state ? 'true' : undefined}
          >
            {name}
            {name in counts && <b>{count(counts[name as 'ready'])}</b>}
          </a>
        ))}
      </nav>
      {state === 'ready' && counts.oldest_ready_at && (
        <p class="hint">
          The oldest has been ready for <Since at={counts.oldest_ready_at} />.
        </p>
      )}
      <PolledContent polled={polled}>
        {({ tasks, cursor }) => (
          <>
            <SelectableTasks
              key={state}
              rows={tasks}
              ofOneQueue
              onChange={polled.refresh}
              emptyText={hints[state] ?? `No ${state} task is stored.`}
            />
            {(cursor || tasks.length === SHOWN) && (
              <p class="buttons">
                <a class="button" href={href(['tasks'], { queue, state })}>
                  Search the {state} tasks
                </a>
              </p>
            )}
          </>
        )}
      </PolledContent>
    </Panel>
  );
}
