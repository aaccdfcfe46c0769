import { count, duration } from '../format.ts';
import { useAction } from '../notifications.tsx';
import { useMay } from '../session.tsx';
import type { ConcurrencyKey, Lease, Listed } from '../types.ts';
import { Bar } from './bar.tsx';
import { Empty } from './empty.tsx';
import { QueueLink, State, TaskLink, WorkerLink } from './state.tsx';
import { type Column, Table } from './table.tsx';
import { Ago } from './times.tsx';

/** Open leases, earliest end first. */
export function LeaseTable({ rows, queues }: { rows: Lease[]; queues?: boolean }) {
  const columns: Column<Lease>[] = [
    ...(queues ? [{ name: 'Queue', show: ({ queue }: Lease) => <QueueLink queue={queue} /> }] : []),
    {
      name: 'Worker',
      show: ({ worker, queue }) =>
        worker === null ? '(no name)' : <WorkerLink worker={worker} queue={queue} />,
    },
    { name: 'Since', show: ({ claimed_at }) => <Ago at={claimed_at} /> },
    {
      name: 'Lease ends',
      show: ({ leased_until, late }) => (
        <>
          <Ago at={leased_until} /> {late && <State state="overdue" />}
        </>
      ),
    },
    { name: 'Runs', number: true, sortKey: (l) => l.runs, show: (l) => count(l.runs) },
    {
      name: 'Unfinished',
      number: true,
      sortKey: (l) => l.unfinished,
      show: (l) => count(l.unfinished),
    },
    {
      name: 'Tasks',
      show: ({ tasks, runs }) => (
        <>
          {tasks.slice(0, 3).map((id) => (
            <span key={id}>
              <TaskLink id={id} />{' '}
            </span>
          ))}
          {runs > 3 && '…'}
        </>
      ),
    },
  ];
  return (
    <Table
      stacked
      label="Leases"
      rows={rows}
      columns={columns}
      id={(l) => `${l.worker} ${l.claimed_at} ${l.tasks[0]}`}
      emptyText="There are no open leases."
    />
  );
}

/** How long the newest run of a task took, or has taken so far; a waiting or ready task has none. */
const ran = ({ started_at, ended_at }: Listed) =>
  started_at ? (ended_at ? Date.parse(ended_at) : Date.now()) - Date.parse(started_at) : null;

export function TaskTable({
  rows,
  emptyText,
  ofOneQueue,
  box,
}: {
  rows: Listed[];
  emptyText: string;
  ofOneQueue?: boolean;
  /** A column to select tasks. */
  box?: Column<Listed>;
}) {
  const columns: (Column<Listed> | false)[] = [
    { name: 'Task', show: ({ id }) => <TaskLink id={id} /> },
    box ?? false,
    !ofOneQueue && { name: 'Queue', show: ({ queue }) => <QueueLink queue={queue} /> },
    !ofOneQueue && { name: 'State', show: ({ state }) => <State state={state} /> },
    {
      name: 'Payload',
      show: ({ preview }) => <code class="preview">{preview ?? '–'}</code>,
    },
    { name: 'Created', show: ({ created_at }) => <Ago at={created_at} /> },
    {
      name: 'Due or ended',
      show: ({ run_at, ended_at }) => <Ago at={ended_at ?? run_at} />,
    },
    {
      name: 'Ran for',
      number: true,
      show: (task) => {
        const ms = ran(task);
        return duration(ms === null ? null : ms / 1000);
      },
    },
    { name: 'Attempt', number: true, show: ({ attempt }) => attempt },
    rows.some(({ tenant }) => tenant) && { name: 'Tenant', show: ({ tenant }) => tenant ?? '–' },
    { name: 'Worker', show: ({ worker }) => worker ?? '–' },
    rows.some(({ error }) => error) && {
      name: 'Error',
      show: ({ error }) => <span class="error">{error ?? ''}</span>,
    },
  ];
  return (
    <Table
      stacked
      label="Tasks"
      rows={rows}
      id={({ id }) => id}
      emptyText={emptyText}
      columns={columns.filter((column) => column !== false)}
    />
  );
}

export function ConcurrencyKeyTable({
  queue,
  rows,
  onChange,
}: {
  queue: string;
  rows: ConcurrencyKey[];
  onChange(): void;
}) {
  const may = useMay();
  const action = useAction();
  const pause = async (concurrency_key: string, paused: boolean) => {
    const input = { path: { queue, concurrency_key }, body: { paused } };
    const message = `The concurrency key ${concurrency_key} ${paused ? 'is paused' : 'is resumed'}.`;
    await action('PATCH /v1/queues/{queue}/concurrency-keys/{concurrency_key}', input, message);
    onChange();
  };
  return (
    <Table
      stacked
      label="Concurrency keys"
      rows={rows}
      id={({ concurrency_key }) => concurrency_key}
      emptyText={
        <Empty command={`tock enqueue ${queue} '{"to": "ann"}' --concurrency-key ann`}>
          No task of this queue has used a concurrency key. This enqueues one that does:
        </Empty>
      }
      sorted="Waiting"
      columns={[
        {
          name: 'Concurrency key',
          show: ({ concurrency_key, paused }) => (
            <>
              {concurrency_key} {paused && <State state="paused" />}
            </>
          ),
        },
        {
          name: 'Holders',
          show: ({ holders, concurrency_limit }) => (
            <>
              <Bar
                part={holders.length}
                whole={concurrency_limit ?? holders.length}
                text={`${count(holders.length)} of ${count(concurrency_limit)} inside`}
              />
              {holders.slice(0, 3).map((id) => (
                <span key={id}>
                  <TaskLink id={id} />{' '}
                </span>
              ))}
            </>
          ),
        },
        { name: 'Waiting', number: true, sortKey: (g) => g.waiting, show: (g) => count(g.waiting) },
        ...(may('admin', queue)
          ? [
              {
                name: 'Action',
                show: ({ concurrency_key, paused }: ConcurrencyKey) => (
                  <button type="button" onClick={() => pause(concurrency_key, !paused)}>
                    {paused ? 'Resume' : 'Pause'}
                    <span class="hidden"> concurrency key {concurrency_key}</span>
                  </button>
                ),
              },
            ]
          : []),
      ]}
    />
  );
}
