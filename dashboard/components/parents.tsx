import { count } from '../format.ts';
import { usePolling } from '../polling.ts';
import type { Listed } from '../types.ts';
import { Panel } from './panel.tsx';
import { QueueLink, State, TaskLink } from './state.tsx';
import { Table } from './table.tsx';
import { Updated } from './times.tsx';

type Counts = Record<string, number>;

const unfinished = ['running', 'ready', 'waiting'];
const ends = ['dead', 'cancelled', 'expired'] as const;
const order = ['done', ...ends, 'running', 'ready', 'waiting', 'gone'];

const sorted = (counts: Counts) =>
  Object.entries(counts).sort(([a], [b]) => order.indexOf(a) - order.indexOf(b));
const sum = (counts: Counts) => Object.values(counts).reduce((all, n) => all + n, 0);

/** How many tasks are done, and how many are in each of these other states. */
function progressText(counts: Counts, states: readonly string[]): string {
  const rest = sorted(counts).filter(([state]) => state !== 'done' && states.includes(state));
  return [
    `${count(counts.done ?? 0)} of ${count(sum(counts))} done`,
    ...rest.map(([state, n]) => `${count(n)} ${state}`),
  ].join(', ');
}

const ProgressBar = ({ counts }: { counts: Counts }) => (
  <div class="progress" aria-hidden="true">
    {sorted(counts).map(([state, n]) => (
      <span key={state} class={state} style={{ width: `${(n / sum(counts)) * 100}%` }} />
    ))}
  </div>
);

function Progress({ counts }: { counts: Counts }) {
  return (
    <>
      <p class="progress-text">{progressText(counts, Object.keys(counts))}</p>
      <ProgressBar counts={counts} />
    </>
  );
}

/** The parents of a task in a list: how many are done, and how many have ended without being done. */
export function ParentsDone({ parents, parent_counts: counts }: Listed) {
  if (!parents) return '–';
  if (!counts) return `${count(parents)}, not counted`;
  return (
    <div class="bar">
      <span>{progressText(counts, [...ends, 'gone'])}</span>
      <ProgressBar counts={counts} />
    </div>
  );
}

const SHOWN = 20;

/** Names the queue of an unfinished parent, whose page has the reasons why its tasks are late. */
function QueueOfParent({ id }: { id: string }) {
  const { data } = usePolling('GET /v1/tasks/{id}', { path: { id } }, 60_000);
  if (!data) return null;
  return (
    <p class="hint">
      Task {id} is of the queue <QueueLink queue={data.queue} />, which says why its tasks are late.
    </p>
  );
}

/** Parents in one state; of many, the first ones. */
function List({
  id,
  state,
  counts,
  withQueue,
}: {
  id: string;
  state: string;
  counts: Counts;
  withQueue: boolean;
}) {
  const query = { limit: SHOWN, after: 0, results: false, state };
  const polled = usePolling('GET /v1/tasks/{id}/parents', { path: { id }, query }, 10_000);
  const rows = polled.data?.parents ?? [];
  if (rows.length === 0) return null;
  const more = (counts[state] ?? 0) - rows.length;
  const first = withQueue && rows[0];
  return (
    <>
      <Table
        label={`Parents: ${state}`}
        rows={rows}
        id={({ n }) => String(n)}
        emptyText=""
        columns={[
          { name: 'Task', show: (parent) => <TaskLink id={parent.id} /> },
          { name: 'Name', show: ({ name }) => name ?? '–' },
          { name: 'State', show: (parent) => <State state={parent.state} /> },
        ]}
      />
      {more > 0 && (
        <p class="hint">
          {count(more)} more are {state}.
        </p>
      )}
      {first && <QueueOfParent id={first.id} />}
    </>
  );
}

/** The tasks that a task depends on: how many are done, and those that need attention. */
export function Parents({ id }: { id: string }) {
  const query = { limit: 1, results: false };
  const polled = usePolling('GET /v1/tasks/{id}/parents', { path: { id }, query }, 5000);
  const counts = polled.data?.counts;
  if (!counts || Object.keys(counts).length === 0) return null;
  const failed = ends.filter((state) => counts[state]);
  const few = sum(counts) <= SHOWN;
  const next = unfinished.find((state) => counts[state]);
  const shown = few ? sorted(counts).map(([state]) => state) : [...failed, next ?? '', 'gone'];
  return (
    <Panel title="Parents" side={<Updated at={polled.at} />}>
      <Progress counts={counts} />
      {shown
        .filter((state) => counts[state])
        .map((state) => (
          <List key={state} id={id} state={state} counts={counts} withQueue={state === next} />
        ))}
    </Panel>
  );
}
