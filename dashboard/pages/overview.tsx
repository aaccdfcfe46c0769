import { useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { Activity } from '../components/activity.tsx';
import { Empty } from '../components/empty.tsx';
import { Health } from '../components/health.tsx';
import { PolledContent } from '../components/panel.tsx';
import { PauseQueues } from '../components/pause_queues.tsx';
import { Spark } from '../components/spark.tsx';
import { QueueLink, State, StateIcon } from '../components/state.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Since, Updated } from '../components/times.tsx';
import { about, count, percentileText, rate, shortNumber } from '../format.ts';
import { usePolling } from '../polling.ts';
import { type Address, href } from '../route.ts';
import { useSession } from '../session.tsx';

type Row = Answer<'GET /v1/overview'>['queues'][number];
type Depth = Answer<'GET /v1/queues'>['queues'][number];

/** The page marks a queue as late if its oldest ready task has waited longer. */
const LATE_SECONDS = 60;
const MOST_ROWS = 100;
const firstTask = `tock enqueue hello '{"hello": "world"}'`;

const age = ({ oldest_ready_at }: Row) =>
  oldest_ready_at ? (Date.now() - Date.parse(oldest_ready_at)) / 1000 : 0;
const isLate = (row: Row) => age(row) > LATE_SECONDS;

/** A number beside a sparkline. A zero is pale, as in the other cells. */
const Beside = ({ text }: { text: string }) => (
  <span class={text === '0' ? 'beside-spark nil' : 'beside-spark'}>{text}</span>
);

const columns: Column<Row>[] = [
  {
    name: 'Queue',
    sortKey: ({ name }) => name,
    show: (row) => (
      <>
        <QueueLink queue={row.name} /> {row.paused && <State state="paused" />}{' '}
        {isLate(row) && (
          <a class="late" href={href(['queues', row.name])}>
            late: why?<span class="hidden"> Queue {row.name}</span>
          </a>
        )}
      </>
    ),
  },
  {
    name: 'Ready',
    number: true,
    sortKey: ({ ready }) => ready,
    show: ({ ready, spark }) => (
      <>
        <Spark values={spark.ready} /> <Beside text={count(ready)} />
      </>
    ),
  },
  {
    name: 'Oldest',
    number: true,
    sortKey: age,
    show: (row) => (row.oldest_ready_at ? <Since at={row.oldest_ready_at} /> : '–'),
  },
  { name: 'Running', number: true, sortKey: (r) => r.running, show: (r) => count(r.running) },
  { name: 'Waiting', number: true, sortKey: (r) => r.waiting, show: (r) => count(r.waiting) },
  {
    name: 'Dead',
    number: true,
    sortKey: ({ dead }) => dead,
    show: ({ dead }) => (dead > 0 ? <strong class="alarm">{count(dead)}</strong> : '0'),
  },
  {
    name: 'Done/s',
    number: true,
    sortKey: (r) => r.done_per_second,
    show: (r) => (
      <>
        <Spark values={r.spark.done} /> <Beside text={rate(r.done_per_second)} />
      </>
    ),
  },
  {
    name: 'Failed/s',
    number: true,
    sortKey: (r) => r.failed_per_second,
    show: (r) => rate(r.failed_per_second),
  },
  {
    name: 'Wait p95',
    number: true,
    sortKey: (r) => r.wait_p95 ?? -1,
    explanation: percentileText,
    show: (r) => about(r.wait_p95),
  },
  {
    name: 'Run p95',
    number: true,
    sortKey: (r) => r.run_p95 ?? -1,
    explanation: percentileText,
    show: (r) => about(r.run_p95),
  },
];

/** Replaces the collected depths, which may be a minute old, by current ones. */
function joinDepths(collected: Row[], depths: Depth[] | undefined): Row[] {
  const depthByName = new Map(depths?.map((depth) => [depth.name, depth]));
  return collected.map((row) => ({ ...row, ...depthByName.get(row.name) }));
}

const sum = (rows: Row[], select: (row: Row) => number) =>
  rows.reduce((all, row) => all + select(row), 0);

function Totals({ rows }: { rows: Row[] }) {
  const tiles: [name: string, value: string, state?: string][] = [
    ['Ready', shortNumber(sum(rows, (r) => r.ready)), 'ready'],
    ['Running', shortNumber(sum(rows, (r) => r.running)), 'running'],
    ['Waiting', shortNumber(sum(rows, (r) => r.waiting)), 'waiting'],
    ['Dead', shortNumber(sum(rows, (r) => r.dead)), 'dead'],
    ['Started/s, 1\u00a0min', rate(sum(rows, (r) => r.started_per_second))],
    ['Done/s, 1\u00a0min', rate(sum(rows, (r) => r.done_per_second))],
  ];
  return (
    <dl class="tiles">
      {tiles.map(([name, value, state]) => (
        <div key={name}>
          <dt>
            {state && <StateIcon state={state} />}
            {name}
          </dt>
          <dd>
            {state ? (
              <a
                class={state === 'dead' && value !== '0' ? 'alarm' : ''}
                href={href(['tasks'], { state })}
              >
                {value}
              </a>
            ) : (
              value
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Queues({ rows }: { rows: Row[] }) {
  const [text, setText] = useState('');
  const matching = rows.filter(({ name }) => name.includes(text));
  const sorted = text === '' ? [...rows].sort((a, b) => age(b) - age(a)) : matching;
  const shown = sorted.slice(0, MOST_ROWS);
  return (
    <>
      <div class="filter">
        <label class="find">
          Filter by name
          <input
            type="search"
            value={text}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <PauseQueues queues={shown} />
      </div>
      <Table
        label="Queues"
        rows={shown}
        columns={columns}
        id={({ name }) => name}
        emptyText={
          rows.length === 0 ? (
            <Empty command={firstTask}>There are no queues yet. The first task makes one:</Empty>
          ) : (
            'No queue has this name.'
          )
        }
        sorted="Oldest"
        stacked
      />
      {matching.length > MOST_ROWS && (
        <p class="hint">
          {MOST_ROWS} of {count(matching.length)} are shown. Use the filter to find others.
        </p>
      )}
    </>
  );
}

export function Overview({ address }: { address: Address }) {
  const { keyInfo } = useSession();
  const limited = keyInfo.queues !== null || keyInfo.tenants !== null;
  const overview = usePolling('GET /v1/overview', limited ? null : {}, 10_000);
  const depths = usePolling('GET /v1/queues', limited ? null : {});
  const doctor = usePolling('GET /v1/doctor', limited ? null : {}, 10_000);
  if (limited) {
    return (
      <>
        <h1 tabIndex={-1}>Overview</h1>
        <p>This key is for {keyInfo.queues ? 'these queues' : 'the tasks of some tenants'} only:</p>
        <ul>
          {(keyInfo.queues ?? []).map((queue) => (
            <li key={queue}>
              <QueueLink queue={queue} />
            </li>
          ))}
          {(keyInfo.tenants ?? []).map((tenant) => (
            <li key={tenant}>tenant {tenant}</li>
          ))}
        </ul>
      </>
    );
  }
  return (
    <>
      <h1 tabIndex={-1}>Overview</h1>
      <Health polled={doctor} />
      <PolledContent polled={overview}>
        {({ queues }) => (
          <>
            <Totals rows={joinDepths(queues, depths.data?.queues)} />
            {queues.length > 0 && <Activity address={address} />}
            <section class="panel">
              <header>
                <h2>Queues</h2>
                <Updated at={depths.at} />
              </header>
              <p class="hint">
                Rates cover the last whole minute, p95 the last five; other numbers are current.
              </p>
              <Queues rows={joinDepths(queues, depths.data?.queues)} />
            </section>
          </>
        )}
      </PolledContent>
    </>
  );
}
