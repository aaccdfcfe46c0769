import { useState } from 'preact/hooks';
import type { Answer, Changes } from '../../client/wire.ts';
import { duration, errorLine, exact, pretty } from '../format.ts';
import { useLive } from '../live.ts';
import { Asked } from '../parts/confirm.tsx';
import { Ago, Panel, QueueLink, Shown, State, TaskLink, Updated } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { href } from '../route.ts';
import { useAct } from '../say.tsx';
import { useMay } from '../session.tsx';

type Found = Answer<'GET /v1/tasks/{id}'>;
type Run = Found['runs'][number];

const ended = ['done', 'dead', 'cancelled', 'expired'];

const MOST_TEXT = 20_000;

/** JSON as text: nothing in it is ever run. */
function Json({ title, value }: { title: string; value: unknown }) {
  const [all, setAll] = useState(false);
  if (value === null || value === undefined) return null;
  const text = pretty(value);
  const shown = all ? text : text.slice(0, MOST_TEXT);
  return (
    <Panel title={title}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: who has no mouse scrolls it by its focus */}
      <section class="scroll" aria-label={title} tabIndex={0}>
        <pre>{shown}</pre>
      </section>
      {shown.length < text.length && (
        <button type="button" onClick={() => setAll(true)}>
          Show all of {text.length} characters
        </button>
      )}
    </Panel>
  );
}

const lasted = ({ started_at, ended_at }: Run) =>
  started_at
    ? ((ended_at ? Date.parse(ended_at) : Date.now()) - Date.parse(started_at)) / 1000
    : null;

/** When each run was, as bars over the task's life. */
function Timeline({ task }: { task: Found }) {
  const start = Date.parse(task.created_at);
  const end = task.ended_at ? Date.parse(task.ended_at) : Date.now();
  const all = Math.max(1, end - start);
  return (
    <svg class="timeline" viewBox="0 0 1000 22" preserveAspectRatio="none" aria-hidden="true">
      <rect class="life" x="0" y="9" width="1000" height="4" />
      {task.runs.map((run) => {
        if (!run.started_at) return null;
        const x = Math.max(0, ((Date.parse(run.started_at) - start) / all) * 1000);
        const width = Math.max(3, (((lasted(run) ?? 0) * 1000) / all) * 1000);
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

function Runs({ task }: { task: Found }) {
  if (task.runs.length === 0) return null;
  return (
    <Panel title="Runs">
      <Timeline task={task} />
      <Table
        label="Runs"
        rows={task.runs}
        id={({ id }) => id}
        none=""
        columns={[
          { name: 'Attempt', number: true, show: ({ attempt }) => attempt },
          { name: 'State', show: ({ state }) => <State state={state} /> },
          { name: 'Queue', show: ({ queue }) => queue },
          { name: 'Worker', show: ({ worker }) => worker ?? '–' },
          { name: 'Started', show: ({ started_at }) => <Ago at={started_at} /> },
          { name: 'Ran for', number: true, show: (run) => duration(lasted(run)) },
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
                {run.cancel_requested && ' (asked to stop)'}
              </>
            ),
          },
        ]}
      />
    </Panel>
  );
}

function Facts({ task }: { task: Found }) {
  const facts: [string, unknown][] = [
    ['queue', <QueueLink key="q" queue={task.queue} />],
    ['priority', task.priority],
    ['tenant', task.tenant],
    ['attempt', `${task.attempt} of ${task.max_attempts}`],
    ['lost', task.lost || null],
    ['created', <Ago key="c" at={task.created_at} />],
    ['created at', exact(task.created_at)],
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

function Actions({ task, refresh }: { task: Found; refresh(): void }) {
  const may = useMay();
  const act = useAct();
  const [priority, setPriority] = useState(String(task.priority));
  const path = { id: task.id };
  const over = ended.includes(task.state);
  const enqueue = may('enqueue', task.queue);
  const admin = may('admin', task.queue);
  const rerun = async () => {
    const request_id = crypto.randomUUID();
    const done = await act(
      'POST /v1/tasks/{id}/rerun',
      { path, body: { request_id, reason: 'from the dashboard' } },
      ({ rerun_id }) => `It runs again as ${rerun_id}.`,
    );
    if (done?.rerun_id) location.hash = href(['tasks', done.rerun_id]);
  };
  const change = async (body: Changes, said: string) => {
    await act('PATCH /v1/tasks/{id}', { path, body }, said);
    refresh();
  };
  if (!enqueue && !admin) return null;
  return (
    <fieldset class="buttons" aria-label="Actions">
      {enqueue && over && (
        <button type="button" class="main" onClick={rerun}>
          Run again
        </button>
      )}
      {enqueue && task.state === 'waiting' && (
        <button type="button" onClick={() => change({ delay_seconds: 0 }, 'It is due now.')}>
          Run now
        </button>
      )}
      {enqueue && (task.state === 'waiting' || task.state === 'ready') && (
        <form
          class="inline"
          onSubmit={(event) => {
            event.preventDefault();
            void change({ priority: Number(priority) }, `Its priority is ${priority}.`);
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
      {enqueue && !over && (
        <Asked
          danger
          label="Cancel"
          title="Cancel this task?"
          go="Cancel it"
          onGo={async () => {
            await act('POST /v1/tasks/{id}/cancel', { path }, ({ changed }) =>
              changed
                ? 'It is cancelled, or its worker is asked to stop.'
                : 'It had been cancelled.',
            );
            refresh();
          }}
        >
          <p>
            {task.state === 'running'
              ? 'Its worker is asked to stop, and its next attempt is not begun.'
              : 'It will not be run.'}
          </p>
        </Asked>
      )}
      {admin && over && (
        <Asked
          danger
          label="Erase payload"
          title="Erase what this task said?"
          go="Erase"
          word="erase"
          onGo={async () => {
            await act(
              'DELETE /v1/tasks/{id}/payload',
              { path },
              'Its payload, result and errors are gone.',
            );
            refresh();
          }}
        >
          <p>Its payload, result and errors are emptied, of all its runs, for good.</p>
        </Asked>
      )}
    </fieldset>
  );
}

function Parents({ id }: { id: string }) {
  const given = { path: { id }, query: { limit: 100 } };
  const live = useLive('GET /v1/tasks/{id}/parents', given, 10_000);
  if (!live.data || live.data.parents.length === 0) return null;
  return (
    <Panel title="It comes after">
      <Table
        label="Parents"
        rows={live.data.parents}
        id={({ n }) => String(n)}
        none=""
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
  const live = useLive('GET /v1/tasks/{id}', { path: { id } });
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Task {id}</h1>
        {live.data && <State state={live.data.state} />}
        <Updated at={live.at} />
      </div>
      <Shown live={live}>
        {(task) => (
          <>
            <Actions task={task} refresh={live.refresh} />
            <Panel title="What it is">
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
      </Shown>
    </>
  );
}
