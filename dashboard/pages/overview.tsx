import { useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { count, duration, rate, short } from '../format.ts';
import { type Live, useLive } from '../live.ts';
import { Findings, worstFirst } from '../parts/findings.tsx';
import { Problem, QueueLink, Shown, Since, State, Updated } from '../parts/small.tsx';
import { Spark } from '../parts/spark.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { href } from '../route.ts';
import { useSession } from '../session.tsx';
import type { Finding } from '../types.ts';

type Row = Answer<'GET /v1/overview'>['queues'][number];
type Depth = Answer<'GET /v1/queues'>['queues'][number];

/** From when on a ready task is called late: most queues start theirs within seconds. */
const LATE_SECONDS = 60;
const MOST_ROWS = 100;

const age = ({ oldest_ready_at }: Row) =>
  oldest_ready_at ? (Date.now() - Date.parse(oldest_ready_at)) / 1000 : 0;
const isLate = (row: Row) => age(row) > LATE_SECONDS;

const columns: Column<Row>[] = [
  {
    name: 'Queue',
    by: ({ name }) => name,
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
    by: ({ ready }) => ready,
    show: ({ ready, spark }) => (
      <>
        <Spark values={spark.ready} /> {count(ready)}
      </>
    ),
  },
  {
    name: 'Oldest',
    number: true,
    by: age,
    show: (row) => <Since at={row.oldest_ready_at} />,
  },
  { name: 'Running', number: true, by: ({ running }) => running, show: (r) => count(r.running) },
  { name: 'Waiting', number: true, by: ({ waiting }) => waiting, show: (r) => count(r.waiting) },
  { name: 'Dead', number: true, by: ({ dead }) => dead, show: (r) => count(r.dead) },
  {
    name: 'Done/s',
    number: true,
    by: (r) => r.done_per_second,
    show: (r) => (
      <>
        <Spark values={r.spark.done} /> {rate(r.done_per_second)}
      </>
    ),
  },
  {
    name: 'Failed/s',
    number: true,
    by: (r) => r.failed_per_second,
    show: (r) => rate(r.failed_per_second),
  },
  {
    name: 'Wait p95',
    number: true,
    by: (r) => r.wait_p95 ?? -1,
    show: (r) => duration(r.wait_p95),
  },
  { name: 'Run p95', number: true, by: (r) => r.run_p95 ?? -1, show: (r) => duration(r.run_p95) },
];

/** How it went is counted now and then; how much there is, just now. */
function joined(counted: Row[], depths: Depth[] | undefined): Row[] {
  const now = new Map(depths?.map((depth) => [depth.name, depth]));
  return counted.map((row) => ({ ...row, ...now.get(row.name) }));
}

const sum = (rows: Row[], of: (row: Row) => number) => rows.reduce((all, row) => all + of(row), 0);

function Totals({ rows }: { rows: Row[] }) {
  const tiles: [string, string][] = [
    ['Ready', short(sum(rows, (r) => r.ready))],
    ['Running', short(sum(rows, (r) => r.running))],
    ['Waiting', short(sum(rows, (r) => r.waiting))],
    ['Dead', short(sum(rows, (r) => r.dead))],
    ['Started/s, 5 min', rate(sum(rows, (r) => r.started_per_second))],
    ['Done/s, 5 min', rate(sum(rows, (r) => r.done_per_second))],
  ];
  return (
    <dl class="tiles">
      {tiles.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Health({ live }: { live: Live<{ findings: Finding[] }> }) {
  if (live.error?.status === 403) return null;
  if (live.error && !live.data) return <Problem error={live.error} />;
  if (!live.data) return null;
  const { findings } = live.data;
  return (
    <section class="panel" aria-label="Health">
      <header>
        <h2>{findings.length === 0 ? '✓ All is well' : 'What needs attention'}</h2>
        <Updated at={live.at} />
      </header>
      {findings.length > 0 && <Findings findings={worstFirst(findings)} />}
    </section>
  );
}

function Queues({ rows }: { rows: Row[] }) {
  const [text, setText] = useState('');
  const wanted = rows.filter(({ name }) => name.includes(text));
  const shown = text === '' ? [...rows].sort((a, b) => age(b) - age(a)) : wanted;
  return (
    <>
      <label class="find">
        Filter by name
        <input
          type="search"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <Table
        label="Queues"
        rows={shown.slice(0, MOST_ROWS)}
        columns={columns}
        id={({ name }) => name}
        none={
          rows.length === 0 ? 'There is no queue yet: enqueue a task.' : 'No queue is called so.'
        }
        sorted="Oldest"
        stacked
      />
      {wanted.length > MOST_ROWS && (
        <p class="hint">
          {MOST_ROWS} of {count(wanted.length)} are shown. Filter to see others.
        </p>
      )}
    </>
  );
}

export function Overview() {
  const { who } = useSession();
  const limited = who.queues !== null || who.tenants !== null;
  const overview = useLive('GET /v1/overview', limited ? null : {}, 10_000);
  const depths = useLive('GET /v1/queues', limited ? null : {});
  const doctor = useLive('GET /v1/doctor', limited ? null : {}, 10_000);
  if (limited) {
    return (
      <>
        <h1 tabIndex={-1}>Overview</h1>
        <p>This key is for {who.queues ? 'these queues' : 'the tasks of some tenants'} only:</p>
        <ul>
          {(who.queues ?? []).map((queue) => (
            <li key={queue}>
              <QueueLink queue={queue} />
            </li>
          ))}
          {(who.tenants ?? []).map((tenant) => (
            <li key={tenant}>tenant {tenant}</li>
          ))}
        </ul>
      </>
    );
  }
  return (
    <>
      <h1 tabIndex={-1}>Overview</h1>
      <Health live={doctor} />
      <Shown live={overview}>
        {({ queues }) => (
          <>
            <Totals rows={joined(queues, depths.data?.queues)} />
            <section class="panel">
              <header>
                <h2>Queues</h2>
                <Updated at={depths.at} />
              </header>
              <p class="hint">Rates and p95 are of the last five whole minutes, the rest is now.</p>
              <Queues rows={joined(queues, depths.data?.queues)} />
            </section>
          </>
        )}
      </Shown>
    </>
  );
}
