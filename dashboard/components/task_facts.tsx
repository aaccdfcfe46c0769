import type { Answer } from '../../client/wire.ts';
import { exactTime } from '../format.ts';
import { href } from '../route.ts';
import { Facts } from './facts.tsx';
import { QueueLink, TaskLink } from './state.tsx';
import { Ago } from './times.tsx';
import type { Reason } from './waits_for.tsx';

type TaskAnswer = Answer<'GET /v1/tasks/{id}'>;

/** The options that have no place of their own on the page; null if there are none. */
export function otherOptions({ options }: TaskAnswer) {
  const { depends_on, names, parent, concurrency_key, unique_key, pipeline, ...others } =
    options ?? {};
  return Object.keys(others).length > 0 ? others : null;
}

/** The stages of a pipeline, each with a link to its queue; the present one is marked. */
function Stages({ stages, queue }: { stages: unknown[]; queue: string }) {
  const names = stages.map((stage) =>
    typeof stage === 'string' ? stage : String((stage as { queue?: unknown }).queue),
  );
  return (
    <>
      {names.map((name, n) => (
        <span key={n}>
          {n > 0 && ' → '}
          {name === queue ? (
            <strong aria-current="step">{name}</strong>
          ) : (
            <QueueLink queue={name} />
          )}
        </span>
      ))}
    </>
  );
}

/** Links for what the options name. */
function optionFacts({ options, queue }: TaskAnswer): [string, unknown][] {
  const { parent, concurrency_key, unique_key, pipeline } = (options ?? {}) as Record<
    string,
    unknown
  >;
  const search = (name: 'concurrency_key' | 'unique_key', value: unknown) =>
    typeof value === 'string' && (
      <a key={name} href={href(['tasks'], { queue, [name]: value })}>
        {value}
      </a>
    );
  return [
    ['part of', typeof parent === 'string' && <TaskLink key="p" id={parent} />],
    ['concurrency key', search('concurrency_key', concurrency_key)],
    ['unique key', search('unique_key', unique_key)],
    ['pipeline', Array.isArray(pipeline) && <Stages key="s" stages={pipeline} queue={queue} />],
  ];
}

/** What the page says of a task in short. */
export function TaskFacts({ task, waitsFor }: { task: TaskAnswer; waitsFor: Reason | null }) {
  const { run_at } = task;
  const isAhead = run_at !== null && Date.parse(run_at) > Date.now();
  // A task that waits for another one or for its key is due no earlier. The steps have their own times.
  const due = waitsFor?.of === 'time' || (isAhead && waitsFor?.of !== 'step') ? run_at : null;
  const facts: [string, unknown][] = [
    ['queue', <QueueLink key="q" queue={task.queue} />],
    ['priority', task.priority],
    ['tenant', task.tenant],
    ['attempt', `${task.attempt} of ${task.max_attempts}`],
    ['lost', task.lost || null],
    [
      'created',
      <>
        <Ago at={task.created_at} /> <small class="hint">{exactTime(task.created_at)}</small>
      </>,
    ],
    ['due', due && <Ago key="d" at={due} />],
    ['ended', task.ended_at && <Ago key="e" at={task.ended_at} />],
    [
      'schedule',
      task.schedule && (
        <a key="s" href={href(['schedules', task.schedule])}>
          {task.schedule}
        </a>
      ),
    ],
    ['progress', task.progress === null ? null : `${task.progress} % ${task.note ?? ''}`],
    ...optionFacts(task),
    ['rerun of', task.rerun_of && <TaskLink key="r" id={task.rerun_of} />],
    [
      'rerun as',
      task.reruns.length > 0 &&
        task.reruns.map(({ id, reason }) => (
          <span key={id}>
            <TaskLink id={id} /> {reason}{' '}
          </span>
        )),
    ],
  ];
  return <Facts facts={facts} />;
}
