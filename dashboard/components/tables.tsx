import { count } from '../format.ts';
import { useAction } from '../notifications.tsx';
import { useMay } from '../session.tsx';
import type { ConcurrencyKey, Lease, Listed } from '../types.ts';
import { QueueLink, State, TaskLink } from './state.tsx';
import { type Column, Table } from './table.tsx';
import { Ago } from './times.tsx';

/** Open leases, earliest end first. */
export function LeaseTable({ rows, queues }: { rows: Lease[]; queues?: boolean }) {
  const columns: Column<Lease>[] = [
    ...(queues ? [{ name: 'Queue', show: ({ queue }: Lease) => <QueueLink queue={queue} /> }] : []),
    { name: 'Worker', show: ({ worker }) => worker ?? '(no name)' },
    { name: 'Since', show: ({ claimed_at }) => <Ago at={claimed_at} /> },
    {
      name: 'Lease ends',
      show: ({ leased_until, late }) => (
        <>
          <Ago at={leased_until} /> {late && <strong class="late">overdue</strong>}
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
      label="Leases"
      rows={rows}
      columns={columns}
      id={(l) => `${l.worker} ${l.claimed_at} ${l.tasks[0]}`}
      emptyText="There are no open leases."
    />
  );
}

export function TaskTable({ rows, emptyText }: { rows: Listed[]; emptyText: string }) {
  return (
    <Table
      label="Tasks"
      rows={rows}
      id={({ id }) => id}
      emptyText={emptyText}
      columns={[
        { name: 'Task', show: ({ id }) => <TaskLink id={id} /> },
        { name: 'Queue', show: ({ queue }) => <QueueLink queue={queue} /> },
        { name: 'State', show: ({ state }) => <State state={state} /> },
        { name: 'Created', show: ({ created_at }) => <Ago at={created_at} /> },
        {
          name: 'Due or ended',
          show: ({ run_at, ended_at }) => <Ago at={ended_at ?? run_at} />,
        },
        { name: 'Attempt', number: true, show: ({ attempt }) => attempt },
        { name: 'Tenant', show: ({ tenant }) => tenant ?? '–' },
        { name: 'Worker', show: ({ worker }) => worker ?? '–' },
        { name: 'Error', show: ({ error }) => <span class="error">{error ?? ''}</span> },
      ]}
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
      label="Concurrency keys"
      rows={rows}
      id={({ concurrency_key }) => concurrency_key}
      emptyText="No task of this queue has used a concurrency key."
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
              {holders.length} of {concurrency_limit}{' '}
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
