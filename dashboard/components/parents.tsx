import { useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { about, count } from '../format.ts';
import { type Polled, usePolling } from '../polling.ts';
import { href } from '../route.ts';
import type { Listed } from '../types.ts';
import { Findings } from './findings.tsx';
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

/** Why the tasks of a queue are late. A key that may not read the queue sees nothing. */
function WhyLate({ queue }: { queue: string }) {
  const polled = usePolling('GET /v1/queues/{queue}/why', { path: { queue } }, 5000);
  if (polled.error?.status === 403) return null;
  return (
    <PolledContent polled={polled}>
      {({ reasons }) => {
        // That tasks wait for their parents is what this page shows.
        const others = reasons.filter(({ finding }) => !finding.includes('parents'));
        return others.length > 0 && <Findings findings={others} queue={queue} />;
      }}
    </PolledContent>
  );
}

/** The queue of an unfinished parent, with the reasons why its tasks are late. */
function QueueOfParent({ id }: { id: string }) {
  const polled = usePolling('GET /v1/tasks/{id}', { path: { id } }, 60_000);
  return (
    <PolledContent polled={polled}>
      {({ queue }) => (
        <>
          <p class="hint">
            Task {id} is of the queue <QueueLink queue={queue} />
          </p>
          <WhyLate queue={queue} />
        </>
      )}
    </PolledContent>
  );
}

/** From so many ended parents on, their pace says how long the others take. */
const LEAST_ENDED = 20;

/** How long the unfinished parents take if they go on as they have so far. Most parents are as old as the task. */
function Remaining({ counts, since }: { counts: Counts; since: string }) {
  const left = unfinished.reduce((all, state) => all + (counts[state] ?? 0), 0);
  const ended = sum(counts) - left;
  if (left === 0 || ended < LEAST_ENDED) return null;
  const seconds = (Date.now() - Date.parse(since)) / 1000;
  return (
    <p class="hint">
      At the pace so far the other {count(left)} take {about((seconds / ended) * left)}
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
          {withQueue && rows[0] && <QueueOfParent id={rows[0].id} />}
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
        </>
      )}
    </PolledContent>
  );
}

type ParentsAnswer = Answer<'GET /v1/tasks/{id}/parents'>;

/** The tasks that a task depends on: how many are in each state, and those that need attention, or in the chosen state. */
export function Parents({
  id,
  since,
  polled,
  chosen,
}: {
  id: string;
  /** When the task was created. */
  since: string;
  polled: Polled<ParentsAnswer>;
  chosen: ParentState | null;
}) {
  const counts = polled.data?.counts;
  if (counts && Object.keys(counts).length === 0) return null;
  return (
    <Panel title="Parents" side={<Updated at={polled.at} />}>
      <PolledContent polled={polled}>
        {() => counts && <ParentLists id={id} since={since} counts={counts} chosen={chosen} />}
      </PolledContent>
    </Panel>
  );
}

function ParentLists({
  id,
  since,
  counts,
  chosen,
}: {
  id: string;
  since: string;
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
      <Remaining counts={counts} since={since} />
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
