import { useEffect, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { ConcurrencyKeyTable } from '../components/concurrency_key_table.tsx';
import { Empty } from '../components/empty.tsx';
import { PolledContent } from '../components/panel.tsx';
import { Updated } from '../components/times.tsx';
import { count } from '../format.ts';
import { usePolling } from '../polling.ts';
import { type Address, href } from '../route.ts';
import { useSession } from '../session.tsx';

/** Maximum number of queues that are searched for concurrency keys. Those with the most waiting tasks come first. */
const MAX_SEARCHED_QUEUES = 20;

/** The first queue with concurrency keys, if no queue is chosen; null if there is none, undefined during the search. */
function useQueueWithKeys(
  queues: string[] | undefined,
  chosen: string | null,
): string | null | undefined {
  const { key } = useSession();
  const [queueWithKeys, setQueueWithKeys] = useState<string | null | undefined>();
  const searchedQueues =
    chosen === null ? queues?.slice(0, MAX_SEARCHED_QUEUES).join('\n') : undefined;
  useEffect(() => {
    if (searchedQueues === undefined || queueWithKeys) return;
    const control = new AbortController();
    const searchQueues = async () => {
      const names = searchedQueues.split('\n').filter(Boolean);
      for (const name of names) {
        const input = { path: { queue: name } };
        const { concurrency_keys } = await call(
          key,
          'GET /v1/queues/{queue}/concurrency-keys',
          input,
          {
            signal: control.signal,
          },
        );
        if (concurrency_keys.length > 0) return name;
      }
      return names[0] ?? null;
    };
    searchQueues().then(
      setQueueWithKeys,
      () => !control.signal.aborted && setQueueWithKeys(searchedQueues.split('\n')[0]),
    );
    return () => control.abort();
  }, [searchedQueues]);
  return chosen ?? queueWithKeys;
}

/** The concurrency keys of the chosen queue, or of the first queue that has some. */
export function ConcurrencyKeys({ address }: { address: Address }) {
  const { keyInfo } = useSession();
  const all = usePolling('GET /v1/overview', keyInfo.queues ? null : {}, 30_000);
  const queues = keyInfo.queues ?? all.data?.queues.map(({ name }) => name) ?? [];
  const byWaitingCount = (a: { waiting: number }, b: { waiting: number }) => b.waiting - a.waiting;
  const byWaiting =
    keyInfo.queues ?? all.data?.queues.toSorted(byWaitingCount).map(({ name }) => name);
  const keyQueue = useQueueWithKeys(byWaiting, address.query.get('queue'));
  const queue = keyQueue ?? null;
  const polled = usePolling(
    'GET /v1/queues/{queue}/concurrency-keys',
    queue === null ? null : { path: { queue } },
    5000,
  );
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Concurrency keys</h1>
        <Updated at={polled.at} />
      </div>
      <p class="lead">
        A concurrency key limits how many of its tasks run at once; a task holds the key until it
        has ended.
      </p>
      <label class="find">
        Queue
        <select
          value={queue ?? ''}
          onChange={({ currentTarget }) => {
            location.hash = href(['concurrency_keys'], { queue: currentTarget.value });
          }}
        >
          {queues.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <section class="panel" aria-label="Concurrency keys">
        {queue === null ? (
          <PolledContent polled={all}>
            {() =>
              keyQueue === null ? (
                <Empty command={`tock enqueue mail '{"to": "ann"}' --concurrency-key ann`}>
                  There are no queues yet. A task with a concurrency key makes one:
                </Empty>
              ) : (
                <p class="none">Looking …</p>
              )
            }
          </PolledContent>
        ) : (
          <PolledContent polled={polled}>
            {({ concurrency_keys }) => (
              <>
                <ConcurrencyKeyTable queue={queue} rows={concurrency_keys.slice(0, 100)} />
                {concurrency_keys.length > 100 && (
                  <p class="hint">100 of {count(concurrency_keys.length)} are shown.</p>
                )}
              </>
            )}
          </PolledContent>
        )}
      </section>
    </>
  );
}
