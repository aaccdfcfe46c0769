import { count } from '../format.ts';
import type { Lease } from '../types.ts';
import { QueueLink, State, TaskLink, WorkerLink } from './state.tsx';
import { type Column, Table } from './table.tsx';
import { Ago } from './times.tsx';

/** Open leases, in the order of the rows. */
export function LeaseTable({ rows, queues }: { rows: Lease[]; queues?: boolean }) {
  const columns: Column<Lease>[] = [
    ...(queues ? [{ name: 'Queue', show: ({ queue }: Lease) => <QueueLink queue={queue} /> }] : []),
    {
      name: 'Worker',
      show: ({ worker, queue }) =>
        worker === null ? '(no name)' : <WorkerLink worker={worker} queue={queue} />,
    },
    {
      name: 'Since',
      sortKey: ({ claimed_at }) => -Date.parse(claimed_at),
      show: ({ claimed_at }) => <Ago at={claimed_at} />,
    },
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
