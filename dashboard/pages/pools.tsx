import { useState } from 'preact/hooks';
import type { PoolMember as Held } from '../../client/pools.ts';
import { Empty } from '../components/empty.tsx';
import { Further, PolledContent } from '../components/panel.tsx';
import { State } from '../components/state.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Ago, Updated } from '../components/times.tsx';
import { count } from '../format.ts';
import { usePolling } from '../polling.ts';
import { href } from '../route.ts';

const MOST = 100;

/** The cursor of the next page of a list by name; null if this page was not full. */
const nextCursor = (names: (string | null)[]) => (names.length < MOST ? null : names.at(-1));

function Members({ pool, waiting }: { pool: string; waiting: boolean }) {
  const [after, setAfter] = useState<string | undefined>();
  const query = { after, limit: MOST, waiting };
  const polled = usePolling('GET /v1/pools/{pool}', { path: { pool }, query }, 5000);
  const since: Column<Held> = { name: 'Since', show: (entry) => <Ago at={entry.since} /> };
  return (
    <PolledContent polled={polled}>
      {({ members }) => (
        <>
          {waiting ? (
            <Table
              label={`Waiting tasks of ${pool}`}
              rows={members}
              id={({ task }) => `${task}`}
              emptyText={
                <Empty command={`tock pool add ${pool} trip-1`}>
                  No task waits for a worker. This adds one:
                </Empty>
              }
              columns={[{ name: 'Waiting task', show: ({ task }) => task }, since]}
            />
          ) : (
            <Table
              stacked
              label={`Workers of ${pool}`}
              rows={members}
              id={({ worker, task }) => `${worker} ${task}`}
              emptyText={
                <Empty command={`tock pool join ${pool} ann --lease 600`}>
                  The pool has no workers. This joins one:
                </Empty>
              }
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
            next={nextCursor(members.map(({ worker, task }) => (waiting ? task : worker)))}
            goTo={setAfter}
          />
        </>
      )}
    </PolledContent>
  );
}

function PoolPage({ pool }: { pool: string }) {
  return (
    <section class="panel">
      <header>
        <h2>{pool}</h2>
      </header>
      <Members pool={pool} waiting={false} />
      <Members pool={pool} waiting />
    </section>
  );
}

export function Pools({ pool }: { pool: string | undefined }) {
  const polled = usePolling('GET /v1/pools', {}, 5000);
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Pools</h1>
        <Updated at={polled.at} />
      </div>
      <p class="lead">A worker of a pool holds at most one task.</p>
      {pool && <PoolPage key={pool} pool={pool} />}
      <section class="panel" aria-label="Pools">
        <PolledContent polled={polled}>
          {({ pools }) => (
            <Table
              label="Pools"
              rows={pools.slice(0, 100)}
              id={(entry) => entry.pool}
              emptyText={
                <Empty command="tock pool join drivers ann --lease 600">
                  There are no pools. A worker that joins one makes it:
                </Empty>
              }
              columns={[
                {
                  name: 'Pool',
                  show: (entry) => <a href={href(['pools', entry.pool])}>{entry.pool}</a>,
                },
                { name: 'Free', number: true, sortKey: (p) => p.free, show: (p) => count(p.free) },
                { name: 'Held', number: true, sortKey: (p) => p.held, show: (p) => count(p.held) },
                {
                  name: 'Waiting',
                  number: true,
                  sortKey: (p) => p.waiting,
                  show: (p) => count(p.waiting),
                },
              ]}
            />
          )}
        </PolledContent>
      </section>
    </>
  );
}
