import { Empty } from '../components/empty.tsx';
import { FilterForm } from '../components/filter_form.tsx';
import { Growing } from '../components/growing.tsx';
import { LeaseTable } from '../components/lease_table.tsx';
import { Panel, PolledContent } from '../components/panel.tsx';
import { QueueLinks, State, TaskLink, WorkerLink } from '../components/state.tsx';
import { type Column, Table } from '../components/table.tsx';
import { TaskTable } from '../components/task_table.tsx';
import { Ago, Since, Updated } from '../components/times.tsx';
import { WorkerActivity } from '../components/worker_activity.tsx';
import { count } from '../format.ts';
import {
  groupByWorker,
  type LeaseFilter,
  MOST_LEASES,
  useOpenLeases,
  type WorkerEntry,
} from '../leases.ts';
import { usePolling } from '../polling.ts';
import type { Address } from '../route.ts';
import type { Listed } from '../types.ts';

const SHOWN_TASKS = 3;
const MOST_RUNNING = 50;

const fields = [
  ['queue', 'Queue'],
  ['worker', 'Worker'],
] as const;

const Running = ({ n }: { n: number }) => (
  <>
    <State state="running" /> {count(n)}
  </>
);

const columns: Column<WorkerEntry>[] = [
  {
    name: 'Worker',
    sortKey: ({ worker }) => worker ?? '',
    show: ({ worker, queues: [queue = ''] }) =>
      worker === null ? '(no name)' : <WorkerLink worker={worker} queue={queue} />,
  },
  {
    name: 'State',
    sortKey: (w) => w.unfinished,
    show: (w) => <Running n={w.unfinished} />,
  },
  {
    name: 'Queues',
    show: ({ queues }) => <QueueLinks queues={queues} />,
  },
  { name: 'Leases', number: true, sortKey: (w) => w.leases, show: (w) => count(w.leases) },
  {
    name: 'Tasks',
    show: ({ tasks, unfinished }) => (
      <>
        {tasks.slice(0, SHOWN_TASKS).map((id) => (
          <span key={id}>
            <TaskLink id={id} />{' '}
          </span>
        ))}
        {unfinished > SHOWN_TASKS && '…'}
      </>
    ),
  },
  {
    name: 'Longest for',
    number: true,
    sortKey: (w) => -Date.parse(w.first_claim_at),
    show: (w) => <Since at={w.first_claim_at} />,
  },
  {
    name: 'Last claim',
    sortKey: (w) => Date.parse(w.last_claim_at),
    show: (w) => <Ago at={w.last_claim_at} />,
  },
  {
    name: 'Next deadline',
    sortKey: (w) => Date.parse(w.next_deadline_at),
    show: (w) => (
      <>
        <Ago at={w.next_deadline_at} /> {w.overdue > 0 && <State state="overdue" />}
      </>
    ),
  },
];

const longestFirst = (a: Listed, b: Listed) =>
  Date.parse(a.started_at ?? '') - Date.parse(b.started_at ?? '') || 0;

/** What a worker runs, longest first. Its tasks are cancelled on their own pages. */
function RunningTasks({ queue, worker }: LeaseFilter) {
  const query = { queue, worker, state: 'running' as const, limit: MOST_RUNNING };
  const polled = usePolling('GET /v1/tasks', { query }, 5000);
  return (
    <Panel title="Running tasks" side={<Updated at={polled.at} />}>
      <PolledContent polled={polled}>
        {({ tasks, cursor }) => (
          <>
            <TaskTable rows={tasks.toSorted(longestFirst)} emptyText="It runs no task." />
            {cursor && <p class="hint">The newest {count(tasks.length)} tasks are shown.</p>}
          </>
        )}
      </PolledContent>
    </Panel>
  );
}

/** The workers that hold open leases, and these leases; with a worker chosen also its tasks. */
export function Workers({ address }: { address: Address }) {
  const queue = address.query.get('queue') || undefined;
  const worker = address.query.get('worker') || undefined;
  const polled = useOpenLeases({ queue, worker });
  const title = worker ? `Worker ${worker}` : 'Workers';
  const example = queue ?? 'mail';
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>{queue ? `${title} of ${queue}` : title}</h1>
        <Updated at={polled.at} />
      </div>
      <p class="lead">
        Tock knows a worker by its leases, so one that never found a task is not listed. Extending a
        lease is no claim. Handlers and pushes that run in Tock's own server claim as the workers{' '}
        <em>alarm</em>, <em>scheduled</em> and <em>woken</em>.
      </p>
      <FilterForm page="workers" fields={fields} values={{ queue, worker }} />
      <PolledContent polled={polled}>
        {({ leases, more }) => (
          <>
            {more && (
              <p class="problem" role="status">
                There are more than {count(MOST_LEASES)} open leases. Those with the earliest
                deadlines are shown: choose a queue or a worker to see others.
              </p>
            )}
            <Panel title="With open leases">
              <Growing
                key={`${queue} ${worker}`}
                rows={groupByWorker(leases)}
                show={(rows) => (
                  <Table
                    label="Workers"
                    rows={rows}
                    columns={columns}
                    id={(entry) => `${entry.worker}`}
                    stacked
                    emptyText={
                      <Empty
                        command={`tock enqueue ${example} '{"to": "ann"}' && tock claim ${example} --worker me`}
                      >
                        No worker holds a lease{worker || queue ? ' that matches' : ''}. A claim
                        takes one:
                      </Empty>
                    }
                  />
                )}
              />
            </Panel>
            {worker && <RunningTasks queue={queue} worker={worker} />}
            {!worker && <WorkerActivity queue={queue} />}
            {leases.length > 0 && (
              <Panel title="Open leases, longest first">
                <Growing
                  key={`${queue} ${worker}`}
                  rows={leases}
                  show={(rows) => <LeaseTable rows={rows} queues />}
                />
              </Panel>
            )}
          </>
        )}
      </PolledContent>
    </>
  );
}
