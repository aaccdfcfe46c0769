import { useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { count } from '../format.ts';
import { type Polled, usePolling } from '../polling.ts';
import { href } from '../route.ts';
import type { Listed } from '../types.ts';
import { Further, Panel, PolledContent } from './panel.tsx';
import { QueueLink, State, TaskLink } from './state.tsx';
import { Table } from './table.tsx';
import { Updated } from './times.tsx';

type Counts = Record<string, number>;

const unfinished = ['running', 'ready', 'waiting'] as const;
const ends = ['dead', 'cancelled', 'expired'] as const;
const order = ['done', ...ends, ...unfinished, 'gone'] as const;
type ParentState = (typeof order)[number];

/** The state that an address names; null if it names none. */
export const parentState = (name: string | null): ParentState | null =>
  order.find((state) => state === name) ?? null;

const place = (name: string) => order.indexOf(name as ParentState);
const sorted = (counts: Counts) =>
  (Object.entries(counts) as [ParentState, number][]).sort(([a], [b]) => place(a) - place(b));
const sum = (counts: Counts) => Object.values(counts).reduce((all, n) => all + n, 0);

/** How many tasks are done and how many are in each of these other states, each with a link to a list of these. */
function ProgressText({
  id,
  counts,
  states,
  chosen,
}: {
  id: string;
  counts: Counts;
  states: readonly string[];
  chosen?: string | null;
}) {
  const link = (state: string, text: string) => (
    <a
      class="within"
      href={href(['tasks', id], { parents: state })}
      aria-current={state === chosen ? 'true' : undefined}
    >
      {text}
    </a>
  );
  const rest = sorted({ dead: 0, ...counts }).filter(([state]) => states.includes(state));
  const done = counts.done ?? 0;
  return (
    <>
      {done > 0 ? link('done', count(done)) : '0'} of {count(sum(counts))} done
      {rest.map(([state, n]) => [', ', n > 0 ? link(state, `${count(n)} ${state}`) : 'none dead'])}
    </>
  );
}

const ProgressBar = ({ counts }: { counts: Counts }) => (
  <div class="progress" aria-hidden="true">
    {sorted(counts).map(([state, n]) => (
      <span key={state} class={state} style={{ width: `${(n / sum(counts)) * 100}%` }} />
    ))}
  </div>
);

/** The parents of a task in a list: how many are done, and how many have ended without being done. */
export function ParentsDone({ id, parents, parent_counts: counts }: Listed) {
  if (!parents) return '–';
  if (!counts) return `${count(parents)}, not counted`;
  return (
    <div class="bar">
      <span>
        <ProgressText id={id} counts={counts} states={[...ends, 'gone']} />
      </span>
      <ProgressBar counts={counts} />
    </div>
  );
}

/** The parents that are listed in each state, and on a page of one state. */
const SHOWN = 20;
const PAGE_SIZE = 100;

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

type Listing = {
  id: string;
  state: ParentState;
  counts: Counts;
  withQueue: boolean;
  only?: boolean;
};

/** Parents in one state: the first ones or, if they are the only ones on the page, one page after the other. */
function List({ id, state, counts, withQueue, only }: Listing) {
  const [after, setAfter] = useState<string | undefined>();
  const limit = only ? PAGE_SIZE : SHOWN;
  const query = { limit, after: Number(after ?? 0), results: false, state };
  const polled = usePolling('GET /v1/tasks/{id}/parents', { path: { id }, query }, 5000);
  const more = (counts[state] ?? 0) - SHOWN;
  return (
    <PolledContent polled={polled}>
      {({ parents: rows }) => (
        <>
          <Table
            label={`Parents: ${state}`}
            rows={rows}
            id={({ n }) => String(n)}
            emptyText={only && `None is ${state}.`}
            columns={[
              { name: 'Task', show: (parent) => <TaskLink id={parent.id} /> },
              { name: 'Name', show: ({ name }) => name ?? '–' },
              { name: 'State', show: (parent) => <State state={parent.state} /> },
            ]}
          />
          {only && (
            <Further
              after={after}
              next={rows.length === limit ? String(rows.at(-1)?.n) : null}
              goTo={setAfter}
            />
          )}
          {!only && more > 0 && (
            <p class="hint">
              <a href={href(['tasks', id], { parents: state })}>
                {count(more)} more are {state}
              </a>
            </p>
          )}
          {withQueue && rows[0] && <QueueOfParent id={rows[0].id} />}
        </>
      )}
    </PolledContent>
  );
}

type ParentsAnswer = Answer<'GET /v1/tasks/{id}/parents'>;

/** The tasks that a task depends on: how many are in each state, and those that need attention, or in the chosen state. */
export function Parents({
  id,
  polled,
  chosen,
}: {
  id: string;
  polled: Polled<ParentsAnswer>;
  chosen: ParentState | null;
}) {
  const counts = polled.data?.counts;
  if (counts && Object.keys(counts).length === 0) return null;
  return (
    <Panel title="Parents" side={<Updated at={polled.at} />}>
      <PolledContent polled={polled}>
        {() => counts && <ParentLists id={id} counts={counts} chosen={chosen} />}
      </PolledContent>
    </Panel>
  );
}

function ParentLists({
  id,
  counts,
  chosen,
}: {
  id: string;
  counts: Counts;
  chosen: ParentState | null;
}) {
  const next = unfinished.find((state) => counts[state]);
  const needAttention: (ParentState | undefined)[] = [...ends, next, 'gone'];
  const shown = order.filter((state) =>
    chosen
      ? state === chosen
      : counts[state] && (sum(counts) <= SHOWN || needAttention.includes(state)),
  );
  return (
    <>
      <p class="progress-text">
        <ProgressText id={id} counts={counts} states={order.slice(1)} chosen={chosen} />
      </p>
      <ProgressBar counts={counts} />
      {shown.map((state) => (
        <List
          key={`${state} ${chosen}`}
          id={id}
          state={state}
          counts={counts}
          withQueue={state === next}
          only={chosen !== null}
        />
      ))}
      {chosen && (
        <p class="hint">
          Only those that are {chosen} are listed. <a href={href(['tasks', id])}>Show others</a>
        </p>
      )}
    </>
  );
}
