import { useState } from 'preact/hooks';
import type { Answer, Changes } from '../../client/wire.ts';
import { ConfirmButton } from '../components/confirm.tsx';
import { Panel, PolledContent } from '../components/panel.tsx';
import { QueueLink, State, TaskLink } from '../components/state.tsx';
import { Table } from '../components/table.tsx';
import { Ago, Updated } from '../components/times.tsx';
import { duration, errorLine, exactTime, pretty } from '../format.ts';
import { useAction } from '../notifications.tsx';
import { usePolling } from '../polling.ts';
import { href } from '../route.ts';
import { useMay } from '../session.tsx';

type TaskAnswer = Answer<'GET /v1/tasks/{id}'>;
type Run = TaskAnswer['runs'][number];

const finalStates = ['done', 'dead', 'cancelled', 'expired'];

const MOST_TEXT = 20_000;

/** JSON as text: the page never executes it. */
function Json({ title, value }: { title: string; value: unknown }) {
  const [all, setAll] = useState(false);
  if (value === null || value === undefined) return null;
  const text = pretty(value);
  const visibleText = all ? text : text.slice(0, MOST_TEXT);
  return (
    <Panel title={title}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboard users scroll it by focus */}
      <section class="scroll" aria-label={title} tabIndex={0}>
        <pre>{visibleText}</pre>
      </section>
      {visibleText.length < text.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show all of {text.length} characters
        </button>
      )}
    </Panel>
  );
}

const runDuration = ({ started_at, ended_at }: Run) =>
  started_at
    ? ((ended_at ? Date.parse(ended_at) : Date.now()) - Date.parse(started_at)) / 1000
    : null;

/** The time of each run, as bars over the task's life. */
function Timeline({ task }: { task: TaskAnswer }) {
  const start = Date.parse(task.created_at);
  const endTime = task.ended_at ? Date.parse(task.ended_at) : Date.now();
  const all = Math.max(1, endTime - start);
  return (
    <svg class="timeline" viewBox="0 0 1000 22" preserveAspectRatio="none" aria-hidden="true">
      <rect class="life" x="0" y="9" width="1000" height="4" />
      {task.runs.map((run) => {
        if (!run.started_at) return null;
        const x = Math.max(0, ((Date.parse(run.started_at) - start) / all) * 1000);
        const width = Math.max(3, (((runDuration(run) ?? 0) * 1000) / all) * 1000);
        return (
          <rect
            key={run.id}
            class={run.state}
            x={Math.min(x, 997)}
            y="2"
            width={width}
            height="18"
          />
        );
      })}
    </svg>
  );
}

function Runs({ task }: { task: TaskAnswer }) {
  if (task.runs.length === 0) return null;
  return (
    <Panel title="Runs">
      <Timeline task={task} />
      <Table
        label="Runs"
        rows={task.runs}
        id={({ id }) => id}
        emptyText=""
        columns={[
          { name: 'Attempt', number: true, show: ({ attempt }) => attempt },
          { name: 'State', show: ({ state }) => <State state={state} /> },
          { name: 'Queue', show: ({ queue }) => queue },
          { name: 'Worker', show: ({ worker }) => worker ?? '–' },
          { name: 'Started', show: ({ started_at }) => <Ago at={started_at} /> },
          { name: 'Ran for', number: true, show: (run) => duration(runDuration(run)) },
          {
            name: 'Lease ends',
            show: ({ state, leased_until }) =>
              state === 'running' ? <Ago at={leased_until} /> : '–',
          },
          {
            name: 'Said',
            show: (run) => (
              <>
                {run.progress !== null && `${run.progress} % `}
                {run.note}
                <span class="error">{errorLine(run.error)}</span>
                {run.cancel_requested && ' (cancelled)'}
              </>
            ),
          },
        ]}
      />
    </Panel>
  );
}

function Facts({ task }: { task: TaskAnswer }) {
  const facts: [string, unknown][] = [
    ['queue', <QueueLink key="q" queue={task.queue} />],
    ['priority', task.priority],
    ['tenant', task.tenant],
    ['attempt', `${task.attempt} of ${task.max_attempts}`],
    ['lost', task.lost || null],
    ['created', <Ago key="c" at={task.created_at} />],
    ['created at', exactTime(task.created_at)],
    ['due', task.run_at && <Ago key="d" at={task.run_at} />],
    ['ended', task.ended_at && <Ago key="e" at={task.ended_at} />],
    ['progress', task.progress === null ? null : `${task.progress} % ${task.note ?? ''}`],
    ['rerun of', task.rerun_of && <TaskLink key="r" id={task.rerun_of} />],
    [
      'run again as',
      task.reruns.length > 0 &&
        task.reruns.map(({ id, reason }) => (
          <span key={id}>
            <TaskLink id={id} /> {reason}{' '}
          </span>
        )),
    ],
  ];
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== null && value !== undefined && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value as never}</dd>
          </div>
        ))}
    </dl>
  );
}

function Actions({ task, refresh }: { task: TaskAnswer; refresh(): void }) {
  const may = useMay();
  const action = useAction();
  const [priority, setPriority] = useState(String(task.priority));
  const path = { id: task.id };
  const hasEnded = finalStates.includes(task.state);
  const enqueue = may('enqueue', task.queue);
  const admin = may('admin', task.queue);
  const rerun = async () => {
    const request_id = crypto.randomUUID();
    const done = await action(
      'POST /v1/tasks/{id}/rerun',
      { path, body: { request_id, reason: 'from the dashboard' } },
      ({ rerun_id }) => `The task is rerun as ${rerun_id}.`,
    );
    if (done?.rerun_id) location.hash = href(['tasks', done.rerun_id]);
  };
  const change = async (body: Changes, message: string) => {
    await action('PATCH /v1/tasks/{id}', { path, body }, message);
    refresh();
  };
  if (!enqueue && !admin) return null;
  return (
    <fieldset class="buttons" aria-label="Actions">
      {enqueue && hasEnded && (
        <button type="button" class="main" onClick={rerun}>
          Rerun
        </button>
      )}
      {enqueue && task.state === 'waiting' && (
        <button type="button" onClick={() => change({ delay_seconds: 0 }, 'The task is due now.')}>
          Run now
        </button>
      )}
      {enqueue && (task.state === 'waiting' || task.state === 'ready') && (
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
                ? 'The task is cancelled, or its worker is notified.'
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

function Parents({ id }: { id: string }) {
  const input = { path: { id }, query: { limit: 100 } };
  const polled = usePolling('GET /v1/tasks/{id}/parents', input, 10_000);
  if (!polled.data || polled.data.parents.length === 0) return null;
  return (
    <Panel title="Depends on">
      <Table
        label="Parents"
        rows={polled.data.parents}
        id={({ n }) => String(n)}
        emptyText=""
        columns={[
          { name: 'Task', show: (parent) => <TaskLink id={parent.id} /> },
          { name: 'Name', show: ({ name }) => name ?? '–' },
          { name: 'State', show: ({ state }) => <State state={state} /> },
        ]}
      />
    </Panel>
  );
}

export function Task({ id }: { id: string }) {
  const polled = usePolling('GET /v1/tasks/{id}', { path: { id } });
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Task {id}</h1>
        {polled.data && <State state={polled.data.state} />}
        <Updated at={polled.at} />
      </div>
      <PolledContent polled={polled}>
        {(task) => (
          <>
            <Actions task={task} refresh={polled.refresh} />
            <Panel title="Details">
              <Facts task={task} />
            </Panel>
            <Json title="Error" value={task.error} />
            <Runs task={task} />
            <Json title="Payload" value={task.payload} />
            <Json title="Result" value={task.result} />
            {task.options && Object.keys(task.options).length > 0 && (
              <Json title="Options" value={task.options} />
            )}
            {task.options && 'depends_on' in task.options && <Parents id={task.id} />}
          </>
        )}
      </PolledContent>
    </>
  );
}
