import { useState } from 'preact/hooks';
import type { Answer, Changes } from '../../client/wire.ts';
import { Children } from '../components/children.tsx';
import { ConfirmButton } from '../components/confirm.tsx';
import { Enqueue } from '../components/enqueue.tsx';
import { Errors } from '../components/errors.tsx';
import { Facts } from '../components/facts.tsx';
import { Json } from '../components/json_tree.tsx';
import { Panel, PolledContent } from '../components/panel.tsx';
import { Parents, parentState } from '../components/parents.tsx';
import { PayloadForm } from '../components/payload_form.tsx';
import { RerunButton } from '../components/rerun.tsx';
import { Runs } from '../components/runs.tsx';
import { QueueLink, State, TaskLink, WorkerLink } from '../components/state.tsx';
import { Steps } from '../components/steps.tsx';
import { TaskLinks } from '../components/task_links.tsx';
import { Ago, Updated } from '../components/times.tsx';
import { type Reason, reasonOf, WaitsFor } from '../components/waits_for.tsx';
import { exactTime } from '../format.ts';
import { useAction } from '../notifications.tsx';
import { usePolling } from '../polling.ts';
import { type Address, href } from '../route.ts';
import { useMay } from '../session.tsx';

type TaskAnswer = Answer<'GET /v1/tasks/{id}'>;

const finalStates = ['done', 'dead', 'cancelled', 'expired'];

/** The options that have no place of their own on the page; null if there are none. */
function otherOptions({ options }: TaskAnswer) {
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

function TaskFacts({ task, waitsFor }: { task: TaskAnswer; waitsFor: Reason | null }) {
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

const cancelText =
  'The worker is told each time it extends its lease or reports progress, and the task is not retried. A worker that ignores this goes on until it ends the task, which then has the state of that end, or until it no longer extends its lease.';

/** The run whose worker was asked to stop; undefined if there is none. */
const askedToStop = ({ runs }: TaskAnswer) =>
  runs.at(-1)?.cancel_requested ? runs.at(-1) : undefined;

/** What a requested cancel does, and what may be done if the worker ignores it. */
function CancelRequested({ task }: { task: TaskAnswer }) {
  const run = askedToStop(task);
  if (!run) return null;
  return (
    <p class="hint">
      A cancel was requested <Ago at={run.cancel_requested_at} />. {cancelText} If it goes on for
      too long, stop the worker
      {run.worker && (
        <>
          {' '}
          <WorkerLink worker={run.worker} queue={run.queue} />
        </>
      )}
      : the task is cancelled when its lease ends, <Ago at={run.leased_until} /> unless it is
      extended.
    </p>
  );
}

function Actions({
  task,
  waitsFor,
  refresh,
}: {
  task: TaskAnswer;
  waitsFor: Reason | null;
  refresh(): void;
}) {
  const may = useMay();
  const action = useAction();
  const [priority, setPriority] = useState(String(task.priority));
  const [dialog, setDialog] = useState<'copy' | 'payload' | null>(null);
  const path = { id: task.id };
  const hasEnded = finalStates.includes(task.state);
  const enqueue = may('enqueue', task.queue);
  const admin = may('admin', task.queue);
  const mayChange = enqueue && (task.state === 'waiting' || task.state === 'ready');
  const close = () => setDialog(null);
  const change = async (body: Changes, message: string) => {
    await action('PATCH /v1/tasks/{id}', { path, body }, message);
    refresh();
  };
  if (!enqueue && !admin) return null;
  return (
    <fieldset class="buttons" aria-label="Actions">
      {enqueue && hasEnded && <RerunButton id={task.id} label="Rerun" class="main" />}
      {enqueue && waitsFor?.of === 'time' && (
        <button
          type="button"
          title="Makes the task due now. A worker takes it when its turn comes."
          onClick={() => change({ delay_seconds: 0 }, 'The task is due now.')}
        >
          Run now
        </button>
      )}
      {enqueue && (
        <button type="button" aria-haspopup="dialog" onClick={() => setDialog('copy')}>
          Enqueue a copy
        </button>
      )}
      {mayChange && (
        <button type="button" aria-haspopup="dialog" onClick={() => setDialog('payload')}>
          Edit payload
        </button>
      )}
      {dialog === 'copy' && (
        <Enqueue queue={task.queue} task={task} onClose={close} onDone={refresh} />
      )}
      {dialog === 'payload' && <PayloadForm task={task} onClose={close} onDone={refresh} />}
      {mayChange && (
        <form
          class="inline"
          onSubmit={(event) => {
            event.preventDefault();
            void change({ priority: Number(priority) }, `The priority is ${priority}.`);
          }}
        >
          <label>
            Priority{' '}
            <select
              value={priority}
              onChange={({ currentTarget }) => setPriority(currentTarget.value)}
            >
              {[...'0123456789'].map((n) => (
                <option key={n} value={n}>
                  {n}
                </option>
              ))}
            </select>
          </label>
          <button type="submit">Change</button>
        </form>
      )}
      {enqueue && !hasEnded && !askedToStop(task) && (
        <ConfirmButton
          danger
          label="Cancel"
          title="Cancel this task?"
          buttonLabel="Cancel it"
          onConfirm={async () => {
            await action('POST /v1/tasks/{id}/cancel', { path }, ({ changed }) =>
              task.state === 'running'
                ? `A cancel ${changed ? 'is' : 'was already'} requested.`
                : `The task ${changed ? 'is' : 'was already'} cancelled.`,
            );
            refresh();
          }}
        >
          <p>
            {task.state === 'running'
              ? `A cancel is requested. ${cancelText}`
              : 'The task will not run.'}
          </p>
        </ConfirmButton>
      )}
      {admin && hasEnded && (
        <ConfirmButton
          danger
          label="Erase payload"
          title="Erase the payload, result and errors?"
          buttonLabel="Erase"
          word="erase"
          onConfirm={async () => {
            await action(
              'DELETE /v1/tasks/{id}/payload',
              { path },
              'The payload, result and errors are erased.',
            );
            refresh();
          }}
        >
          <p>The payload, result and errors of all runs are permanently erased.</p>
        </ConfirmButton>
      )}
    </fieldset>
  );
}

export function Task({ id, address }: { id: string; address: Address }) {
  const polled = usePolling('GET /v1/tasks/{id}', { path: { id } });
  const task = polled.data;
  const interval = task?.ended_at ? 3_600_000 : 10_000;
  const steps = usePolling('GET /v1/tasks/{id}/steps', task ? { path: { id } } : null, interval);
  const hasParents = task?.options && 'depends_on' in task.options;
  const parents = usePolling(
    'GET /v1/tasks/{id}/parents',
    hasParents ? { path: { id }, query: { limit: 1, results: false } } : null,
    5000,
  );
  const waitsFor = task ? reasonOf(task, steps.data?.steps, parents.data?.counts ?? null) : null;
  const asked = task && askedToStop(task);
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Task {id}</h1>
        {task && <State state={task.state} />}{' '}
        {task && waitsFor && (
          <span>
            <WaitsFor reason={waitsFor} queue={task.queue} />
          </span>
        )}
        {asked && (
          <span class="late">
            cancel requested <Ago at={asked.cancel_requested_at} />
          </span>
        )}
        <Updated at={polled.at} />
      </div>
      <PolledContent polled={polled}>
        {(task) => (
          <>
            <Actions task={task} waitsFor={waitsFor} refresh={polled.refresh} />
            <CancelRequested task={task} />
            <TaskLinks task={task} />
            <Panel title="Details">
              <TaskFacts task={task} waitsFor={waitsFor} />
            </Panel>
            {hasParents && (
              <Parents
                id={task.id}
                polled={parents}
                chosen={parentState(address.query.get('parents'))}
              />
            )}
            <Children key={task.id} id={task.id} />
            <Errors task={task} />
            <Steps task={task} polled={steps} refresh={polled.refresh} />
            <Runs task={task} steps={steps.data?.steps ?? []} />
            <Json title="Payload" value={task.payload} />
            <Json title="Result" value={task.result} />
            <Json title="Options" value={otherOptions(task)} />
          </>
        )}
      </PolledContent>
    </>
  );
}
