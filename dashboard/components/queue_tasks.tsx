import type { Answer } from '../../client/wire.ts';
import { goToSection } from '../focus.ts';
import { count, plural } from '../format.ts';
import { type Address, href } from '../route.ts';
import { defaultsOf, type FieldName, type Search, searchOf } from '../search.ts';
import { useSession } from '../session.tsx';
import { FoundTasks } from './found_tasks.tsx';
import { Panel } from './panel.tsx';
import type { Limits } from './queue_limits.tsx';
import { SearchForm } from './search_form.tsx';
import { Since } from './times.tsx';

/** The counts of a queue. Ended tasks other than dead ones are counted apart. */
export type Counts = Pick<
  Answer<'GET /v1/queues/{queue}'>,
  'ready' | 'running' | 'waiting' | 'dead' | 'oldest_ready_at' | 'waiting_for' | 'paused'
>;

export type EndedCounts = Answer<'GET /v1/queues/{queue}/ended'>['states'];

const states = ['ready', 'running', 'waiting', 'dead', 'done', 'cancelled', 'expired'] as const;
type State = (typeof states)[number];

const emptyTexts: Partial<Record<State, string>> = {
  ready: 'No task is ready.',
  running: 'No task is running: a worker claims one with tock.work(), tock claim or over HTTP.',
  waiting: 'No task waits for its time, a concurrency key, its parents, a child or an event.',
  dead: 'No task is dead.',
};

const reasons = [
  ['time', 'for their time'],
  ['concurrency_key', 'for a concurrency key'],
  ['dependency', 'for parents'],
  ['child', 'for a child'],
  ['event', 'for an event'],
] as const;

const filters: FieldName[] = [
  'tenant',
  'worker',
  'error',
  'rerun',
  'unique_key',
  'concurrency_key',
  'payload',
  'from',
  'to',
];

/** Tasks of other states have no such filter on this page. */
const ofDead: FieldName[] = ['error', 'rerun'];

/** The number of tasks in a state, such as 1,000+ if there may be more; null if it is unknown. */
function countText(state: State, counts: Counts, ended: EndedCounts): string | null {
  if (state in counts) return count(counts[state as 'ready']);
  const counted = ended.find((of) => of.state === state);
  if (!counted || (counted.tasks === 0 && !counted.counted_all)) return null;
  return count(counted.tasks) + (counted.counted_all ? '' : '+');
}

/** What a count with a plus sign is of, or why there is none. */
const windowText = ({ state, tasks }: EndedCounts[number]) =>
  state === 'done'
    ? 'The tab counts up to 1,000 tasks; the list has all.'
    : tasks === 0
      ? `None of the newest 1,000 tasks of the queue is ${state}; the list goes further back.`
      : `The tab counts ${state} tasks among the newest 1,000 of the queue; the list goes further back.`;

/** What holds ready tasks back, or null. */
function heldText({ ready, paused }: Counts, limits: Limits | undefined): string | null {
  const held = (n: number) => plural(Math.min(ready, n), 'ready task is', 'ready tasks are');
  if (ready === 0) return null;
  if (paused) return `${held(ready)} held: the queue is paused.`;
  if (!limits) return null;
  const { max_running, running, level } = limits;
  // As in why(): between an end and the next claim one fewer runs than may. With more room the workers are too few.
  const isFull =
    max_running !== null && running !== null && running >= max_running - (max_running > 3 ? 1 : 0);
  const free = isFull ? max_running - running : ready;
  const starts = level !== null && level < 1 ? 0 : ready;
  const startable = Math.max(0, Math.min(free, starts));
  if (startable >= ready) return null;
  return `${held(ready - startable)} held by ${free <= starts ? 'max_running' : 'the rate limit'}.`;
}

/** The newest tasks of a queue in one state, with a tab for each state, and a search among them. */
export function QueueTasks({
  queue,
  counts,
  ended,
  limits,
  address,
}: {
  queue: string;
  counts: Counts;
  ended: EndedCounts;
  limits: Limits | undefined;
  address: Address;
}) {
  const { keyInfo } = useSession();
  const given = { ...defaultsOf(keyInfo), ...searchOf(address.query) };
  const state = states.find((name) => name === given.state) ?? 'ready';
  const range = address.query.get('range') ?? undefined;
  const filter = Object.fromEntries(filters.map((name) => [name, given[name]])) as Search;
  const fields = filters.filter((name) => state === 'dead' || !ofDead.includes(name));
  if (state !== 'dead') for (const name of ofDead) filter[name] = undefined;
  const isFiltered = filters.some((name) => filter[name]);
  const reason = state === 'waiting' ? given.waiting_for : undefined;
  const link = (next: Search) => href(['queues', queue], { range, ...filter, ...next });
  const held = heldText(counts, limits);
  const partly = ended.find((of) => of.state === state && !of.counted_all);
  return (
    <Panel title="Tasks">
      <nav class="tabs" aria-label="Tasks by state">
        {states.map((name) => (
          <a
            key={name}
            href={link({ state: name })}
            aria-current={name === state ? 'true' : undefined}
          >
            {name}
            {countText(name, counts, ended) !== null && <b>{countText(name, counts, ended)}</b>}
          </a>
        ))}
      </nav>
      {partly && <p class="hint">{windowText(partly)}</p>}
      {state === 'ready' && counts.oldest_ready_at && (
        <p class="hint">
          The oldest has been ready for <Since at={counts.oldest_ready_at} />. {held}
        </p>
      )}
      {state === 'dead' && counts.dead > 0 && !filter.rerun && (
        <p class="hint">
          Those that were run again are counted too:{' '}
          <a href={link({ state, rerun: 'false' })}>list only the others</a>.{' '}
          <button type="button" class="small" onClick={() => goToSection('Dead tasks by error')}>
            Redrive those of one error
          </button>
        </p>
      )}
      {state === 'waiting' && (
        <nav class="tabs" aria-label="Waiting tasks by reason">
          <a href={link({ state })} aria-current={reason ? undefined : 'true'}>
            all
          </a>
          {reasons.map(([name, text]) => (
            <a
              key={name}
              href={link({ state, waiting_for: name })}
              aria-current={name === reason ? 'true' : undefined}
            >
              {text}
              <b>{count(counts.waiting_for?.[name])}</b>
            </a>
          ))}
        </nav>
      )}
      <details open={isFiltered}>
        <summary>Search these tasks</summary>
        <SearchForm
          search={filter}
          fields={fields}
          clear={href(['queues', queue], { range, state, waiting_for: reason })}
          onSearch={(next) => {
            location.hash = href(['queues', queue], { range, state, waiting_for: reason, ...next });
          }}
        />
      </details>
      <FoundTasks
        key={state}
        search={{ queue, state, waiting_for: reason, ...filter }}
        ofOneQueue
        everyMs={5000}
        emptyText={
          isFiltered
            ? 'There are no such tasks.'
            : (emptyTexts[state] ?? `No ${state} task is stored.`)
        }
      />
    </Panel>
  );
}
