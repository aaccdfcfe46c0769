import { useEffect, useState } from 'preact/hooks';
import type { PoolMember as Held } from '../../client/pools.ts';
import { call } from '../api.ts';
import { count } from '../format.ts';
import { useLive } from '../live.ts';
import { Ago, Further, Shown, State, Updated } from '../parts/small.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { ConcurrencyKeyTable, LeaseTable } from '../parts/tables.tsx';
import { href, type Place } from '../route.ts';
import { useSession } from '../session.tsx';

export function Leases({ place }: { place: Place }) {
  const [after, setAfter] = useState<string | undefined>();
  const queue = place.query.get('queue') || undefined;
  const live = useLive('GET /v1/leases', { query: { queue, cursor: after, limit: 50 } }, 5000);
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Leases{queue && ` of ${queue}`}</h1>
        <Updated at={live.at} />
      </div>
      <p class="lead">Who runs what at this moment, the lease that ends first at the top.</p>
      <section class="panel" aria-label="Leases">
        <Shown live={live}>
          {({ leases, cursor }) => (
            <>
              <LeaseTable rows={leases} queues />
              <Further after={after} next={cursor} go={setAfter} />
            </>
          )}
        </Shown>
      </section>
    </>
  );
}

/** So many queues are asked for their concurrency keys at most, those where most waits first. */
const MOST_ASKED = 20;

/** The first queue that has concurrency keys, where none is chosen; undefined while it is looked for. */
function useGated(queues: string[] | undefined, chosen: string | null): string | null | undefined {
  const { key } = useSession();
  const [found, setFound] = useState<string | null | undefined>();
  const asked = chosen === null ? queues?.slice(0, MOST_ASKED).join('\n') : undefined;
  useEffect(() => {
    if (asked === undefined || found) return;
    const control = new AbortController();
    const look = async () => {
      const names = asked.split('\n').filter(Boolean);
      for (const name of names) {
        const given = { path: { queue: name } };
        const { concurrency_keys } = await call(
          key,
          'GET /v1/queues/{queue}/concurrency-keys',
          given,
          {
            signal: control.signal,
          },
        );
        if (concurrency_keys.length > 0) return name;
      }
      return names[0] ?? null;
    };
    look().then(setFound, () => !control.signal.aborted && setFound(asked.split('\n')[0]));
    return () => control.abort();
  }, [asked]);
  return chosen ?? found;
}

/** Concurrency keys belong to a queue: the one that is chosen, else one that has some. */
export function ConcurrencyKeys({ place }: { place: Place }) {
  const { who } = useSession();
  const all = useLive('GET /v1/overview', who.queues ? null : {}, 30_000);
  const queues = who.queues ?? all.data?.queues.map(({ name }) => name) ?? [];
  const most = (a: { waiting: number }, b: { waiting: number }) => b.waiting - a.waiting;
  const byWaiting = who.queues ?? all.data?.queues.toSorted(most).map(({ name }) => name);
  const gated = useGated(byWaiting, place.query.get('queue'));
  const queue = gated ?? null;
  const live = useLive(
    'GET /v1/queues/{queue}/concurrency-keys',
    queue === null ? null : { path: { queue } },
    5000,
  );
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>ConcurrencyKeys</h1>
        <Updated at={live.at} />
      </div>
      <p class="lead">
        A concurrency_key lets so many tasks of one key in at a time; a task holders stays there
        until it has ended.
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
      <section class="panel" aria-label="ConcurrencyKeys">
        {queue === null ? (
          <Shown live={all}>
            {() => <p class="none">{gated === null ? 'There is no queue yet.' : 'Looking …'}</p>}
          </Shown>
        ) : (
          <Shown live={live}>
            {({ concurrency_keys }) => (
              <>
                <ConcurrencyKeyTable
                  queue={queue}
                  rows={concurrency_keys.slice(0, 100)}
                  onChange={live.refresh}
                />
                {concurrency_keys.length > 100 && (
                  <p class="hint">100 of {count(concurrency_keys.length)} are shown.</p>
                )}
              </>
            )}
          </Shown>
        )}
      </section>
    </>
  );
}

const MOST = 100;

/** Where the next part of a list by name begins; null where this one was not full. */
const nextOf = (names: (string | null)[]) => (names.length < MOST ? null : names.at(-1));

function Places({ pool, waiting }: { pool: string; waiting: boolean }) {
  const [after, setAfter] = useState<string | undefined>();
  const query = { after, limit: MOST, waiting };
  const live = useLive('GET /v1/pools/{pool}', { path: { pool }, query }, 5000);
  const since: Column<Held> = { name: 'Since', show: (one) => <Ago at={one.since} /> };
  return (
    <Shown live={live}>
      {({ places }) => (
        <>
          {waiting ? (
            <Table
              label={`Tasks that wait in ${pool}`}
              rows={places}
              id={({ task }) => `${task}`}
              none="No task waits for a worker."
              columns={[{ name: 'Task that waits', show: ({ task }) => task }, since]}
            />
          ) : (
            <Table
              label={`Workers of ${pool}`}
              rows={places}
              id={({ worker, task }) => `${worker} ${task}`}
              none="No worker is there."
              columns={[
                { name: 'Worker', show: ({ worker }) => worker ?? '–' },
                { name: 'State', show: ({ state }) => <State state={state} /> },
                { name: 'Task', show: ({ task }) => task ?? '–' },
                since,
                { name: 'Until', show: ({ leased_until }) => <Ago at={leased_until} /> },
              ]}
            />
          )}
          <Further
            after={after}
            next={nextOf(places.map(({ worker, task }) => (waiting ? task : worker)))}
            go={setAfter}
          />
        </>
      )}
    </Shown>
  );
}

function OnePool({ pool }: { pool: string }) {
  return (
    <section class="panel">
      <header>
        <h2>{pool}</h2>
      </header>
      <Places pool={pool} waiting={false} />
      <Places pool={pool} waiting />
    </section>
  );
}

export function Pools({ pool }: { pool: string | undefined }) {
  const live = useLive('GET /v1/pools', {}, 5000);
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Pools</h1>
        <Updated at={live.at} />
      </div>
      <p class="lead">A worker of a pool holds one task at most.</p>
      {pool && <OnePool key={pool} pool={pool} />}
      <section class="panel" aria-label="Pools">
        <Shown live={live}>
          {({ pools }) => (
            <Table
              label="Pools"
              rows={pools.slice(0, 100)}
              id={(one) => one.pool}
              none="There is no pool: PUT /v1/pools/:pool/workers/:worker joins one."
              columns={[
                { name: 'Pool', show: (one) => <a href={href(['pools', one.pool])}>{one.pool}</a> },
                { name: 'Free', number: true, by: (p) => p.free, show: (p) => count(p.free) },
                { name: 'Held', number: true, by: (p) => p.held, show: (p) => count(p.held) },
                {
                  name: 'Waiting',
                  number: true,
                  by: (p) => p.waiting,
                  show: (p) => count(p.waiting),
                },
              ]}
            />
          )}
        </Shown>
      </section>
    </>
  );
}
