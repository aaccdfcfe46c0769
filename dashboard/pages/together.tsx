import { useState } from 'preact/hooks';
import { withQuery } from '../api.ts';
import { count } from '../format.ts';
import { useLive } from '../live.ts';
import { Ago, Shown, State, Updated } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { GateTable, LeaseTable } from '../parts/tables.tsx';
import { href, type Place } from '../route.ts';
import { useSession } from '../session.tsx';
import type { Gate, Lease } from '../types.ts';

export function Leases() {
  const [after, setAfter] = useState<string | undefined>();
  const live = useLive<{ leases: Lease[]; cursor: string | null }>(
    withQuery('/v1/leases', { cursor: after, limit: 50 }),
    5000,
  );
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Leases</h1>
        <Updated at={live.at} />
      </div>
      <p class="lead">Who runs what at this moment, the lease that ends first at the top.</p>
      <section class="panel" aria-label="Leases">
        <Shown live={live}>
          {({ leases, cursor }) => (
            <>
              <LeaseTable rows={leases} queues />
              <p class="buttons">
                {after && (
                  <button type="button" onClick={() => setAfter(undefined)}>
                    From the beginning
                  </button>
                )}
                {cursor && (
                  <button type="button" onClick={() => setAfter(cursor)}>
                    Go on
                  </button>
                )}
              </p>
            </>
          )}
        </Shown>
      </section>
    </>
  );
}

/** Gates belong to a queue: the one that is chosen. */
export function Gates({ place }: { place: Place }) {
  const { who } = useSession();
  const all = useLive<{ queues: { name: string }[] }>(who.queues ? null : '/v1/overview', 30_000);
  const queues = who.queues ?? all.data?.queues.map(({ name }) => name) ?? [];
  const queue = place.query.get('queue') ?? queues[0] ?? null;
  const live = useLive<{ gates: Gate[] }>(
    queue === null ? null : `/v1/queues/${encodeURIComponent(queue)}/gates`,
    5000,
  );
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Gates</h1>
        <Updated at={live.at} />
      </div>
      <p class="lead">
        A gate lets so many tasks of one key in at a time; a task inside stays there until it has
        ended.
      </p>
      <label class="find">
        Queue
        <select
          value={queue ?? ''}
          onChange={({ currentTarget }) => {
            location.hash = href(['gates'], { queue: currentTarget.value });
          }}
        >
          {queues.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <section class="panel" aria-label="Gates">
        {queue === null ? (
          <Shown live={all}>{() => <p class="none">There is no queue yet.</p>}</Shown>
        ) : (
          <Shown live={live}>
            {({ gates }) => (
              <>
                <GateTable queue={queue} rows={gates.slice(0, 100)} onChange={live.refresh} />
                {gates.length > 100 && <p class="hint">100 of {count(gates.length)} are shown.</p>}
              </>
            )}
          </Shown>
        )}
      </section>
    </>
  );
}

type Pool = { pool: string; free: number; held: number; waiting: number };
type Held = {
  worker: string | null;
  task: string | null;
  state: string;
  since: string;
  leased_until: string | null;
};

function OnePool({ pool }: { pool: string }) {
  const path = `/v1/pools/${encodeURIComponent(pool)}?limit=100`;
  const live = useLive<{ places: Held[] }>(path, 5000);
  const line = useLive<{ places: Held[] }>(`${path}&waiting=true`, 5000);
  return (
    <section class="panel">
      <header>
        <h2>{pool}</h2>
        <Updated at={live.at} />
      </header>
      <Shown live={live}>
        {({ places }) => (
          <Table
            label={`Workers of ${pool}`}
            rows={places}
            id={({ worker, task }) => `${worker} ${task}`}
            none="No worker is there."
            columns={[
              { name: 'Worker', show: ({ worker }) => worker ?? '–' },
              { name: 'State', show: ({ state }) => <State state={state} /> },
              { name: 'Task', show: ({ task }) => task ?? '–' },
              { name: 'Since', show: ({ since }) => <Ago at={since} /> },
              { name: 'Until', show: ({ leased_until }) => <Ago at={leased_until} /> },
            ]}
          />
        )}
      </Shown>
      <Shown live={line}>
        {({ places }) => (
          <Table
            label={`Tasks that wait in ${pool}`}
            rows={places}
            id={({ task }) => `${task}`}
            none="No task waits for a worker."
            columns={[
              { name: 'Task that waits', show: ({ task }) => task },
              { name: 'Since', show: ({ since }) => <Ago at={since} /> },
            ]}
          />
        )}
      </Shown>
    </section>
  );
}

export function Pools({ pool }: { pool: string | undefined }) {
  const live = useLive<{ pools: Pool[] }>('/v1/pools', 5000);
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Pools</h1>
        <Updated at={live.at} />
      </div>
      <p class="lead">A worker of a pool holds one task at most.</p>
      {pool && <OnePool pool={pool} />}
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
