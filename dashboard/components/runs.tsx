import type { Answer } from '../../client/wire.ts';
import { duration, errorLine } from '../format.ts';
import { useHidden } from '../hidden_fields.ts';
import { Panel } from './panel.tsx';
import { QueueLink, State, WorkerLink } from './state.tsx';
import type { Step } from './steps.tsx';
import { Table } from './table.tsx';
import { Ago } from './times.tsx';

type TaskAnswer = Answer<'GET /v1/tasks/{id}'>;
type Run = TaskAnswer['runs'][number];

const MOST_MARKS = 200;

const runDuration = ({ started_at, ended_at }: Run) =>
  started_at
    ? ((ended_at ? Date.parse(ended_at) : Date.now()) - Date.parse(started_at)) / 1000
    : null;

/** Seconds for which a run waited: from its task's creation, or from the end of the run before it. */
function waited(task: TaskAnswer, n: number): number | null {
  const run = task.runs[n];
  const from = n === 0 ? task.created_at : task.runs[n - 1]?.ended_at;
  return run?.started_at && from ? (Date.parse(run.started_at) - Date.parse(from)) / 1000 : null;
}

/** Why a superseded run ended: it was changed before it started, its steps wait, or its worker released it. */
function stateOf({ state, started_at }: Run, hasSteps: boolean): string {
  if (state !== 'superseded') return state;
  return started_at === null ? 'changed' : hasSteps ? 'suspended' : 'released';
}

/** What the task did between a run and the next one. A wait for an event counts as sleep. */
function pauseAfter(run: Run, hasSteps: boolean): 'backoff' | 'asleep' | null {
  if (run.state === 'failed' || run.state === 'lost') return 'backoff';
  return stateOf(run, hasSteps) === 'suspended' ? 'asleep' : null;
}

/** The task's life as a bar: its runs, the waits between them, and a mark where a step was saved. */
function Timeline({ task, steps }: { task: TaskAnswer; steps: Step[] }) {
  const start = Date.parse(task.created_at);
  const endTime = task.ended_at ? Date.parse(task.ended_at) : Date.now();
  const all = Math.max(1, endTime - start);
  const place = (time: number) => Math.max(0, ((time - start) / all) * 1000);
  return (
    <svg class="timeline" viewBox="0 0 1000 22" preserveAspectRatio="none" aria-hidden="true">
      <rect class="life" x="0" y="9" width="1000" height="4" />
      {task.runs.map((run, n) => {
        const pause = run.ended_at && pauseAfter(run, steps.length > 0);
        if (!pause) return null;
        const from = Date.parse(run.ended_at ?? '');
        const next = task.runs[n + 1]?.started_at;
        const to = next ? Date.parse(next) : endTime;
        const [x, width] = [place(from), Math.max(0, place(to) - place(from))];
        return (
          <rect key={run.id} class={pause} x={x} y="7" width={width} height="8">
            <title>{`${pause}, ${duration((to - from) / 1000)}`}</title>
          </rect>
        );
      })}
      {task.runs.map((run) => {
        if (!run.started_at) return null;
        const x = place(Date.parse(run.started_at));
        const state = stateOf(run, steps.length > 0);
        const width = Math.max(3, (((runDuration(run) ?? 0) * 1000) / all) * 1000);
        return (
          <rect key={run.id} class={state} x={Math.min(x, 997)} y="2" width={width} height="18">
            <title>{`attempt ${run.attempt}: ${state}, ${duration(runDuration(run))}`}</title>
          </rect>
        );
      })}
      {steps.slice(-MOST_MARKS).map(({ name, state, saved_at }) => (
        <rect
          key={name}
          class="step"
          x={Math.min(place(Date.parse(saved_at)), 998)}
          y="0"
          width="2"
          height="22"
        >
          <title>{`${name}: ${state}`}</title>
        </rect>
      ))}
    </svg>
  );
}

/** What the colours of the bar mean, between its two ends. */
function Legend({ task, steps }: { task: TaskAnswer; steps: Step[] }) {
  const hasSteps = steps.length > 0;
  const kinds = new Set([
    ...task.runs.filter(({ started_at }) => started_at).map((run) => stateOf(run, hasSteps)),
    ...task.runs.flatMap((run) => (run.ended_at && pauseAfter(run, hasSteps)) || []),
    ...(hasSteps ? ['step'] : []),
  ]);
  return (
    <div class="legend hint">
      <span>
        created <Ago at={task.created_at} />
      </span>
      <span class="kinds" aria-hidden="true">
        {[...kinds].map((kind) => (
          <span key={kind}>
            <i class={kind} /> {kind}
          </span>
        ))}
      </span>
      <span>{task.ended_at ? <Ago at={task.ended_at} /> : 'now'}</span>
    </div>
  );
}

/** The runs of a task, as a bar and as a table. */
export function Runs({ task, steps }: { task: TaskAnswer; steps: Step[] }) {
  const hidden = useHidden();
  if (task.runs.length === 0) return null;
  return (
    <Panel title="Timeline">
      <Timeline task={task} steps={steps} />
      <Legend task={task} steps={steps} />
      <Table
        label="Runs"
        stacked
        rows={task.runs}
        id={({ id }) => id}
        emptyText=""
        columns={[
          { name: 'Attempt', show: ({ attempt }) => attempt },
          { name: 'State', show: (run) => <State state={stateOf(run, steps.length > 0)} /> },
          { name: 'Queue', show: ({ queue }) => <QueueLink queue={queue} /> },
          {
            name: 'Worker',
            show: ({ state, worker, queue }) =>
              state === 'running' && worker ? (
                <WorkerLink worker={worker} queue={queue} />
              ) : (
                (worker ?? '–')
              ),
          },
          {
            name: 'Waited',
            number: true,
            show: (run) => duration(waited(task, task.runs.indexOf(run))),
          },
          { name: 'Started', show: ({ started_at }) => <Ago at={started_at} /> },
          { name: 'Ran for', number: true, show: (run) => duration(runDuration(run)) },
          {
            name: 'Lease ends',
            present: ({ state }) => state === 'running',
            show: ({ state, leased_until }) =>
              state === 'running' ? <Ago at={leased_until} /> : '–',
          },
          {
            name: 'Report',
            present: (run) => run.error ?? run.note ?? run.progress ?? run.cancel_requested,
            show: (run) => (
              <>
                {run.progress !== null && `${run.progress} % `}
                {run.note}
                <span class="error">{errorLine(hidden.value(run.error))}</span>
                {run.cancel_requested_at && (
                  <>
                    {' '}
                    cancel requested <Ago at={run.cancel_requested_at} />
                  </>
                )}
              </>
            ),
          },
        ]}
      />
    </Panel>
  );
}
