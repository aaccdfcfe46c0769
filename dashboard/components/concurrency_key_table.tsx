import { useState } from 'preact/hooks';
import { count } from '../format.ts';
import { useAction } from '../notifications.tsx';
import { usePolling } from '../polling.ts';
import { href } from '../route.ts';
import { useMay } from '../session.tsx';
import type { ConcurrencyKey } from '../types.ts';
import { Bar } from './bar.tsx';
import { ConcurrencyKeyForm } from './concurrency_key_form.tsx';
import { Empty } from './empty.tsx';
import { State, TaskLink } from './state.tsx';
import { Table } from './table.tsx';

const MOST_RUNNING = 200;

/** Whether a task of the queue runs; undefined if that is not known, as more run than one call lists. */
function useRunning(queue: string | null): (id: string) => boolean | undefined {
  const query = { queue: queue ?? '', state: 'running' as const, limit: MOST_RUNNING };
  const { data } = usePolling('GET /v1/tasks', queue === null ? null : { query }, 5000);
  const ids = new Set(data?.tasks.map(({ id }) => id));
  return (id) => ids.has(id) || (data && data.cursor === null ? false : undefined);
}

/** The concurrency keys of a queue: holders, waiters, and what an admin may change. */
export function ConcurrencyKeyTable({ queue, rows }: { queue: string; rows: ConcurrencyKey[] }) {
  const may = useMay();
  const running = useRunning(rows.some(({ holders }) => holders.length > 0) ? queue : null);
  const action = useAction();
  const [edited, setEdited] = useState<ConcurrencyKey | null>(null);
  const pause = async (concurrency_key: string, paused: boolean) => {
    const input = { path: { queue, concurrency_key }, body: { paused } };
    const message = `The concurrency key ${concurrency_key} ${paused ? 'is paused' : 'is resumed'}.`;
    await action('PATCH /v1/queues/{queue}/concurrency-keys/{concurrency_key}', input, message);
  };
  const table = (
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
          sortKey: ({ holders }) => holders.length,
          explanation:
            'Tasks hold the key that run, that are ready to run, and that keep it for their next attempt. The link lists them, and those that wait, with their states.',
          show: ({ concurrency_key, holders, concurrency_limit }) => (
            <>
              <Bar
                part={holders.length}
                whole={concurrency_limit ?? holders.length}
                text={
                  <a href={href(['tasks'], { queue, concurrency_key })}>
                    {count(holders.length)} of {count(concurrency_limit)} held
                  </a>
                }
              />
              {holders.slice(0, 3).map((id) => (
                <span key={id}>
                  <TaskLink id={id} /> {running(id) && <State state="running" />}
                  {running(id) === false && <span class="hint">not running</span>}{' '}
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
                show: (row: ConcurrencyKey) => (
                  <p class="buttons">
                    <button type="button" onClick={() => pause(row.concurrency_key, !row.paused)}>
                      {row.paused ? 'Resume' : 'Pause'}
                      <span class="hidden"> concurrency key {row.concurrency_key}</span>
                    </button>
                    <button type="button" aria-haspopup="dialog" onClick={() => setEdited(row)}>
                      Limits
                      <span class="hidden"> of concurrency key {row.concurrency_key}</span>
                    </button>
                  </p>
                ),
              },
            ]
          : []),
      ]}
    />
  );
  return (
    <>
      {table}
      {edited && (
        <ConcurrencyKeyForm queue={queue} settings={edited} onClose={() => setEdited(null)} />
      )}
    </>
  );
}
