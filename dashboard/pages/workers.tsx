import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Empty } from '../components/empty.tsx';
import { FilterForm } from '../components/filter_form.tsx';
import { LeaseTable } from '../components/lease_table.tsx';
import { Panel, PolledContent } from '../components/panel.tsx';
import { QueueLink, State, TaskLink, WorkerLink } from '../components/state.tsx';
import { type Column, Table } from '../components/table.tsx';
import { TaskTable } from '../components/task_table.tsx';
import { Ago, Since, Updated } from '../components/times.tsx';
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
import type { WorkerActivity } from '../types.ts';

const SHOWN_TASKS = 3;
const SHOWN = 50;

const fields = [
  ['queue', 'Queue'],
  ['worker', 'Worker'],
] as const;

const columns: Column<WorkerEntry>[] = [
  {
    name: 'Worker',
    sortKey: ({ worker }) => worker ?? '',
    show: ({ worker, queues: [queue = ''] }) =>
      worker === null ? '(no name)' : <WorkerLink worker={worker} queue={queue} />,
  },
  {
    name: 'Queues',
    show: ({ queues }) =>
      queues.map((queue) => (
        <span key={queue}>
          <QueueLink queue={queue} />{' '}
        </span>
      )),
  },
  { name: 'Leases', number: true, sortKey: (w) => w.leases, show: (w) => count(w.leases) },
  { name: 'Tasks', number: true, sortKey: (w) => w.unfinished, show: (w) => count(w.unfinished) },
  {
    name: 'Runs',
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
    name: 'For',
    number: true,
    sortKey: (w) => -Date.parse(w.first_claim_at),
    show: (w) => <Since at={w.first_claim_at} />,
  },
  { name: 'First seen', show: (w) => <Ago at={w.first_claim_at} /> },
  {
    name: 'Last seen',
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

/** The first rows of a long list, and a button for more of them. */
function Growing<Row>({ rows, show }: { rows: Row[]; show(rows: Row[]): ComponentChildren }) {
  const [most, setMost] = useState(SHOWN);
  return (
    <>
      {show(rows.slice(0, most))}
      {rows.length > most && (
        <p class="buttons">
          <button type="button" onClick={() => setMost(most + SHOWN)}>
            Show more of {count(rows.length)}
          </button>
        </p>
      )}
    </>
  );
}

/** What a worker runs. Its tasks are cancelled on their own pages. */
function RunningTasks({ queue, worker }: LeaseFilter) {
  const query = { queue, worker, state: 'running' as const, limit: SHOWN };
  const polled = usePolling('GET /v1/tasks', { query }, 5000);
  return (
    <Panel title="Running tasks" side={<Updated at={polled.at} />}>
      <PolledContent polled={polled}>
        {({ tasks, cursor }) => (
          <>
            <TaskTable rows={tasks} emptyText="It runs no task." />
            {cursor && <p class="hint">The first {count(tasks.length)} tasks are shown.</p>}
          </>
        )}
      </PolledContent>
    </Panel>
  );
}

const activityColumns: Column<WorkerActivity>[] = [
  {
    name: 'Worker',
    sortKey: ({ worker }) => worker,
    show: ({ worker, queues: [queue = ''] }) => <WorkerLink worker={worker} queue={queue} />,
  },
  { name: 'State', show: (w) => <State state={w.open_leases > 0 ? 'running' : 'idle'} /> },
  {
    name: 'Queues',
    show: ({ queues }) =>
      queues.map((queue) => (
        <span key={queue}>
          <QueueLink queue={queue} />{' '}
        </span>
      )),
  },
  {
    name: 'Last claim',
    sortKey: (w) => Date.parse(w.last_claim_at),
    show: (w) => <Ago at={w.last_claim_at} />,
  },
  { name: 'Leases', number: true, sortKey: (w) => w.leases, show: (w) => count(w.leases) },
  {
    name: 'Open on average',
    number: true,
    sortKey: (w) => w.average_open,
    show: (w) => w.average_open.toFixed(2),
  },
];

/** Who claimed in the last hour, also those that are idle now. */
function LastHour({ queue }: { queue: string | undefined }) {
  const polled = usePolling('GET /v1/workers', { query: { queue } }, 10_000);
  const workers = polled.data?.workers ?? [];
  if (workers.length === 0) return null;
  return (
    <Panel title="Last hour, idle workers too" side={<Updated at={polled.at} />}>
      <Growing
        rows={workers}
        show={(rows) => (
          <Table
            label="Activity of the last hour"
            rows={rows}
            columns={activityColumns}
            id={({ worker }) => worker}
            stacked
            emptyText=""
          />
        )}
      />
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
        Tock knows a worker by its leases: it was first and last seen when it claimed them. A worker
        that never found a task is not listed. Consumers in the Worker are listed as alarm,
        scheduled and woken.
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
            <section class="panel" aria-label="Workers">
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
            </section>
            {worker && <RunningTasks queue={queue} worker={worker} />}
            {!worker && <LastHour queue={queue} />}
            {leases.length > 0 && (
              <Panel title="Open leases, earliest deadline first">
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
