import { count } from '../format.ts';
import { useAct } from '../say.tsx';
import { useMay } from '../session.tsx';
import type { ConcurrencyKey, Lease, Listed } from '../types.ts';
import { Ago, QueueLink, State, TaskLink } from './small.tsx';
import { type Column, Table } from './table.tsx';

/** Who runs what, the lease that ends first at the top. */
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
    { name: 'Runs', number: true, by: (l) => l.runs, show: (l) => count(l.runs) },
    { name: 'Unfinished', number: true, by: (l) => l.unfinished, show: (l) => count(l.unfinished) },
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
      none="Nobody runs anything at this moment."
    />
  );
}

export function TaskTable({ rows, none }: { rows: Listed[]; none: string }) {
  return (
    <Table
      label="Tasks"
      rows={rows}
      id={({ id }) => id}
      none={none}
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
  const act = useAct();
  const pause = async (concurrency_key: string, paused: boolean) => {
    const given = { path: { queue, concurrency_key }, body: { paused } };
    const said = `The concurrency key ${concurrency_key} ${paused ? 'is paused' : 'is open'}.`;
    await act('PATCH /v1/queues/{queue}/concurrency-keys/{concurrency_key}', given, said);
    onChange();
  };
  return (
    <Table
      label="ConcurrencyKeys"
      rows={rows}
      id={({ concurrency_key }) => concurrency_key}
      none="No task of this queue has named a concurrency key."
      sorted="Waiting"
      columns={[
        {
          name: 'ConcurrencyKey',
          show: ({ concurrency_key, paused }) => (
            <>
              {concurrency_key} {paused && <State state="paused" />}
            </>
          ),
        },
        {
          name: 'Inside',
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
        { name: 'Waiting', number: true, by: (g) => g.waiting, show: (g) => count(g.waiting) },
        ...(may('admin', queue)
          ? [
              {
                name: 'Action',
                show: ({ concurrency_key, paused }: ConcurrencyKey) => (
                  <button type="button" onClick={() => pause(concurrency_key, !paused)}>
                    {paused ? 'Open' : 'Pause'}
                    <span class="hidden"> concurrency_key {concurrency_key}</span>
                  </button>
                ),
              },
            ]
          : []),
      ]}
    />
  );
}
