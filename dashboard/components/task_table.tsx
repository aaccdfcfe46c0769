import type { ComponentChildren } from 'preact';
import { duration } from '../format.ts';
import { useHidden } from '../hidden_fields.ts';
import { href } from '../route.ts';
import type { Listed } from '../types.ts';
import { useColumns } from './columns.tsx';
import { ParentsDone } from './parents.tsx';
import { QueueLink, State, TaskLink, WorkerLink } from './state.tsx';
import { type Column, Table } from './table.tsx';
import { Ago } from './times.tsx';

/** How long the newest run of a task took, or has taken so far; a waiting or ready task has none. */
const ran = ({ started_at, ended_at }: Listed) =>
  started_at ? (ended_at ? Date.parse(ended_at) : Date.now()) - Date.parse(started_at) : null;

/** When a task is due; null for one that waits for something else than its time. */
const due = ({ run_at, waiting_for }: Listed) => (waiting_for === 'time' ? run_at : null);

const reasons: Record<string, string> = {
  time: 'its time',
  dependency: 'parents',
  child: 'a child',
  event: 'an event',
};

function WaitsFor({ queue, waiting_for, concurrency_key, attempt }: Listed) {
  if (!waiting_for) return '–';
  if (waiting_for === 'time' && attempt > 1) return 'its retry';
  if (waiting_for !== 'concurrency_key' || !concurrency_key) return reasons[waiting_for] ?? '–';
  return (
    <a href={href(['tasks'], { queue, concurrency_key })}>the concurrency key {concurrency_key}</a>
  );
}

/** A list of tasks, whose columns the user chooses. */
export function TaskTable({
  rows,
  emptyText,
  ofOneQueue,
  box,
}: {
  rows: Listed[];
  emptyText: ComponentChildren;
  ofOneQueue?: boolean;
  /** A column to select tasks. */
  box?: Column<Listed>;
}) {
  const hidden = useHidden();
  const optional: (Column<Listed> | false)[] = [
    !ofOneQueue && { name: 'Queue', show: ({ queue }) => <QueueLink queue={queue} /> },
    !ofOneQueue && { name: 'State', show: ({ state }) => <State state={state} /> },
    rows.some(({ waiting_for, parents }) => waiting_for && !parents) && {
      name: 'Waits for',
      show: WaitsFor,
    },
    rows.some(({ parents }) => parents) && { name: 'Parents', show: ParentsDone },
    {
      name: 'Payload',
      show: ({ preview }) => <code class="preview">{preview ? hidden.text(preview) : '–'}</code>,
    },
    { name: 'Created', show: ({ created_at }) => <Ago at={created_at} /> },
    rows.some((task) => task.ended_at ?? due(task)) && {
      name: 'Due or ended',
      show: (task) => <Ago at={task.ended_at ?? due(task)} />,
    },
    rows.some(({ started_at }) => started_at) && {
      name: 'Ran for',
      number: true,
      sortKey: (task) => ran(task) ?? -1,
      show: (task) => {
        const ms = ran(task);
        return duration(ms === null ? null : ms / 1000);
      },
    },
    { name: 'Attempt', number: true, show: ({ attempt }) => attempt },
    rows.some(({ tenant }) => tenant) && { name: 'Tenant', show: ({ tenant }) => tenant ?? '–' },
    rows.some(({ worker }) => worker) && {
      name: 'Worker',
      show: ({ state, worker, queue }) =>
        state === 'running' && worker ? (
          <WorkerLink worker={worker} queue={queue} />
        ) : (
          (worker ?? '–')
        ),
    },
    rows.some(({ error }) => error) && {
      name: 'Error',
      show: ({ error }) => <span class="error">{hidden.text(error ?? '')}</span>,
    },
  ];
  const { chosen, choice } = useColumns(optional.filter((column) => column !== false));
  const task: Column<Listed> = {
    name: 'Task',
    show: ({ id, rerun, cancel_requested }) => (
      <>
        <TaskLink id={id} /> {rerun && <span class="hint">run again</span>}
        {cancel_requested && <span class="late">cancel requested</span>}
      </>
    ),
  };
  return (
    <>
      <Table
        stacked
        label="Tasks"
        rows={rows}
        id={({ id }) => id}
        emptyText={emptyText}
        columns={[...(box ? [box] : []), task, ...chosen]}
      />
      {rows.length > 0 && choice}
    </>
  );
}
