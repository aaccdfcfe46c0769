import { useState } from 'preact/hooks';
import type { Answer, Changes } from '../../client/wire.ts';
import { Children } from '../components/children.tsx';
import { ConfirmButton } from '../components/confirm.tsx';
import { Enqueue } from '../components/enqueue.tsx';
import { Errors } from '../components/errors.tsx';
import { Facts } from '../components/facts.tsx';
import { Json } from '../components/json_tree.tsx';
import { Panel, PolledContent } from '../components/panel.tsx';
import { Parents } from '../components/parents.tsx';
import { PayloadForm } from '../components/payload_form.tsx';
import { RerunButton } from '../components/rerun.tsx';
import { Runs } from '../components/runs.tsx';
import { QueueLink, State, TaskLink } from '../components/state.tsx';
import { Steps } from '../components/steps.tsx';
import { TaskLinks } from '../components/task_links.tsx';
import { Ago, Updated } from '../components/times.tsx';
import { exactTime } from '../format.ts';
import { useAction } from '../notifications.tsx';
import { usePolling } from '../polling.ts';
import { href } from '../route.ts';
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

function TaskFacts({ task }: { task: TaskAnswer }) {
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
    ['due', task.run_at && <Ago key="d" at={task.run_at} />],
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

function Actions({ task, refresh }: { task: TaskAnswer; refresh(): void }) {
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
      {enqueue && task.state === 'waiting' && (
        <button type="button" onClick={() => change({ delay_seconds: 0 }, 'The task is due now.')}>
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
      {enqueue && !hasEnded && (
        <ConfirmButton
          danger
          label="Cancel"
          title="Cancel this task?"
          buttonLabel="Cancel it"
          onConfirm={async () => {
            await action('POST /v1/tasks/{id}/cancel', { path }, ({ changed }) =>
              changed
                ? task.state === 'running'
                  ? 'Its worker is notified.'
                  : 'The task is cancelled.'
                : 'The task was already cancelled.',
            );
            refresh();
          }}
        >
          <p>
            {task.state === 'running'
              ? 'Its worker is notified, and the task is not retried.'
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

export function Task({ id }: { id: string }) {
  const polled = usePolling('GET /v1/tasks/{id}', { path: { id } });
  const interval = polled.data?.ended_at ? 3_600_000 : 10_000;
  const ofTask = polled.data ? { path: { id } } : null;
  const steps = usePolling('GET /v1/tasks/{id}/steps', ofTask, interval);
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Task {id}</h1>
        {polled.data && <State state={polled.data.state} />}
        {polled.data?.state === 'running' && polled.data.runs.at(-1)?.cancel_requested && (
          <span class="late">cancel requested: its worker learns of it at its next call</span>
        )}
        <Updated at={polled.at} />
      </div>
      <PolledContent polled={polled}>
        {(task) => (
          <>
            <Actions task={task} refresh={polled.refresh} />
            <TaskLinks task={task} />
            <Panel title="Details">
              <TaskFacts task={task} />
            </Panel>
            {task.options && 'depends_on' in task.options && <Parents id={task.id} />}
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
