import { count, rate } from '../format.ts';
import { usePolling } from '../polling.ts';
import type { WorkerActivity as Activity } from '../types.ts';
import { Growing } from './growing.tsx';
import { Panel } from './panel.tsx';
import { QueueLinks, State, WorkerLink } from './state.tsx';
import { type Column, Table } from './table.tsx';
import { Ago, Updated } from './times.tsx';

const columns: Column<Activity>[] = [
  {
    name: 'Worker',
    sortKey: ({ worker }) => worker,
    show: ({ worker, queues: [queue = ''] }) => <WorkerLink worker={worker} queue={queue} />,
  },
  { name: 'State', show: (w) => <State state={w.open_leases > 0 ? 'running' : 'idle'} /> },
  {
    name: 'Queues',
    show: ({ queues }) => <QueueLinks queues={queues} />,
  },
  {
    name: 'Last claim',
    sortKey: (w) => Date.parse(w.last_claim_at),
    show: (w) => <Ago at={w.last_claim_at} />,
  },
  {
    name: 'Leases',
    explanation: 'How many of the newest 50 leases of each stream it has taken.',
    number: true,
    sortKey: (w) => w.leases,
    show: (w) => count(w.leases),
  },
  {
    name: 'Leases at a time',
    explanation:
      'How many of them were open at a time, on average since the first: 1 is busy all the time with one, 0.5 half the time.',
    number: true,
    sortKey: (w) => w.average_open,
    show: (w) => rate(w.average_open),
  },
];

/** Who claimed in the last hour, also those that are idle now. */
export function WorkerActivity({ queue }: { queue: string | undefined }) {
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
            columns={columns}
            id={({ worker }) => worker}
            stacked
            emptyText=""
          />
        )}
      />
    </Panel>
  );
}
