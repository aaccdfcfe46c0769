import { useState } from 'preact/hooks';
import type { Answer, Changes } from '../../client/wire.ts';
import { Children } from '../components/children.tsx';
import { ConfirmButton } from '../components/confirm.tsx';
import { Enqueue } from '../components/enqueue.tsx';
import { Errors } from '../components/errors.tsx';
import { Json } from '../components/json_tree.tsx';
import { Panel, PolledContent } from '../components/panel.tsx';
import { Parents, parentState } from '../components/parents.tsx';
import { PayloadForm } from '../components/payload_form.tsx';
import { RerunButton } from '../components/rerun.tsx';
import { Runs } from '../components/runs.tsx';
import { State, WorkerLink } from '../components/state.tsx';
import { Steps } from '../components/steps.tsx';
import { otherOptions, TaskFacts } from '../components/task_facts.tsx';
import { TaskLinks } from '../components/task_links.tsx';
import { Ago, Updated } from '../components/times.tsx';
import { type Reason, reasonOf, WaitsFor } from '../components/waits_for.tsx';
import { useAction } from '../notifications.tsx';
import { usePolling } from '../polling.ts';
import type { Address } from '../route.ts';
import { useMay } from '../session.tsx';

type TaskAnswer = Answer<'GET /v1/tasks/{id}'>;

const finalStates = ['done', 'dead', 'cancelled', 'expired'];

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

function Actions({ task, waitsFor }: { task: TaskAnswer; waitsFor: Reason | null }) {
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
  };
  if (!enqueue && !admin) return null;
  return (
    <fieldset class="buttons" aria-label="Actions">
      {enqueue && hasEnded && <RerunButton id={task.id} label="Rerun" class="main" />}
      {enqueue && waitsFor?.of === 'time' && (
        <button
          type="button"
          onClick={() =>
            change(
              { delay_seconds: 0 },
              'The task is due now. A worker takes it when its turn comes.',
            )
          }
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
      {dialog === 'copy' && <Enqueue queue={task.queue} task={task} onClose={close} />}
      {dialog === 'payload' && <PayloadForm task={task} onClose={close} />}
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
            <Actions task={task} waitsFor={waitsFor} />
            <CancelRequested task={task} />
            <TaskLinks task={task} />
            <Panel title="Details">
              <TaskFacts task={task} waitsFor={waitsFor} />
            </Panel>
            {hasParents && (
              <Parents
                id={task.id}
                since={task.created_at}
                polled={parents}
                chosen={parentState(address.query.get('parents'))}
              />
            )}
            <Children key={task.id} id={task.id} />
            <Errors task={task} />
            <Steps task={task} polled={steps} />
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
