import type { ComponentChildren } from 'preact';
import type { Answer } from '../../client/wire.ts';
import { Empty } from '../components/empty.tsx';
import { Findings, worstFirst } from '../components/findings.tsx';
import { Panel, PolledContent } from '../components/panel.tsx';
import { State } from '../components/state.tsx';
import { Table } from '../components/table.tsx';
import { Ago, Updated } from '../components/times.tsx';
import { bytes, count, duration, plural } from '../format.ts';
import { usePolling } from '../polling.ts';

type Maintenance = Answer<'GET /v1/maintenance'>;

function MaintenanceJobs({ rows }: { rows: Maintenance['maintenance_jobs'] }) {
  return (
    <Table
      label="Maintenance jobs"
      rows={rows}
      id={({ name }) => name}
      emptyText={
        <Empty command="tock migrate">There are no maintenance jobs. This adds them:</Empty>
      }
      columns={[
        { name: 'Job', sortKey: (d) => d.name, show: (d) => d.name },
        {
          name: 'Every',
          number: true,
          sortKey: (d) => d.every_seconds,
          show: (d) => duration(d.every_seconds),
        },
        { name: 'Last success', show: (d) => <Ago at={d.last_ok_at} /> },
        {
          name: 'Late',
          number: true,
          sortKey: (d) => d.late_seconds ?? 0,
          show: (d) =>
            d.late_seconds ? <strong class="late">{duration(d.late_seconds)}</strong> : '–',
        },
        { name: 'Did', number: true, show: (d) => count(d.last_amount) },
        { name: 'Took', number: true, show: (d) => duration(d.last_seconds) },
        {
          name: 'Failures',
          number: true,
          sortKey: (d) => d.failures,
          show: (d) => count(d.failures),
        },
        {
          name: 'Error',
          present: (d) => d.last_error,
          show: (d) => <span class="error">{d.last_error}</span>,
        },
      ]}
    />
  );
}

function Jobs({ rows }: { rows: Maintenance['jobs'] }) {
  return (
    <Table
      label="pg_cron jobs"
      rows={rows}
      id={({ jobname }) => jobname}
      emptyText={
        <Empty command="tock tick">
          pg_cron is not in this database, so another process must do what is due, once a minute:
        </Empty>
      }
      columns={[
        { name: 'Job', show: ({ jobname }) => jobname },
        { name: 'Schedule', show: ({ schedule }) => <code>{schedule}</code> },
        {
          name: 'Active',
          show: ({ active }) => (active ? 'yes' : <strong class="late">no</strong>),
        },
        { name: 'Last', show: ({ last_at }) => <Ago at={last_at} /> },
        { name: 'Status', show: ({ last_status }) => last_status ?? '–' },
      ]}
    />
  );
}

function Segments({ rows }: { rows: Maintenance['segments'] }) {
  return (
    <Table
      label="Segments"
      rows={rows}
      id={({ number }) => String(number)}
      emptyText={<Empty command="tock migrate">There are no segments. This adds them:</Empty>}
      columns={[
        { name: 'Segment', sortKey: (e) => e.number, show: (e) => e.number },
        { name: 'State', show: ({ state }) => <State state={state} /> },
        { name: 'Started', show: ({ started_at }) => <Ago at={started_at} /> },
        { name: 'Closed', show: ({ closed_at }) => <Ago at={closed_at} /> },
        {
          name: 'Runs, about',
          number: true,
          sortKey: (e) => e.runs ?? 0,
          show: (e) => count(e.runs),
        },
        { name: 'Size', number: true, sortKey: (e) => e.bytes ?? 0, show: (e) => bytes(e.bytes) },
      ]}
    />
  );
}

function LimitTable() {
  const polled = usePolling('GET /v1/limits', {}, 5000);
  if (!polled.data || polled.data.limits.length === 0) return null;
  return (
    <Panel title="Limits of queues" side={<Updated at={polled.at} />}>
      <Table
        label="Limits"
        rows={polled.data.limits.slice(0, 100)}
        id={({ queue }) => queue}
        emptyText=""
        columns={[
          { name: 'Queue', show: ({ queue }) => queue },
          {
            name: 'Running',
            number: true,
            show: (l) => (l.max_running ? `${count(l.running)} of ${count(l.max_running)}` : '–'),
          },
          {
            name: 'Rate',
            number: true,
            show: (l) =>
              l.rate_limit ? `${count(l.rate_limit)} in ${duration(l.rate_seconds)}` : '–',
          },
          {
            name: 'Bucket level',
            number: true,
            show: (l) => (l.level == null ? '–' : count(Math.floor(l.level))),
          },
        ]}
      />
    </Panel>
  );
}

function Archive() {
  const polled = usePolling('GET /v1/archive', {}, 30_000);
  if (!polled.data) return null;
  const {
    enabled,
    waiting,
    exported,
    files,
    rows,
    bytes: size,
    failures,
    last_error,
  } = polled.data;
  const facts: [string, ComponentChildren][] = [
    ['state', enabled ? 'on' : 'off: old history is dropped'],
    ['exported segments', count(exported)],
    ['segments that wait', count(waiting)],
    ['files', count(files)],
    ['runs', count(rows)],
    ['size', bytes(size)],
    ['erasures that wait', count(polled.data.erasures_pending)],
    ['last step', <Ago key="at" at={polled.data.last_step_at} />],
  ];
  return (
    <Panel title="Archive" side={<Updated at={polled.at} />}>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {failures > 0 && (
        <p class="problem">
          The last {plural(failures, 'step')} failed, the latest with: {last_error}
        </p>
      )}
    </Panel>
  );
}

/** Internals, for operators. */
export function System() {
  const polled = usePolling('GET /v1/maintenance', {}, 5000);
  const doctor = usePolling('GET /v1/doctor', {}, 15_000);
  const findings = doctor.data?.findings ?? [];
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>System</h1>
        <Updated at={polled.at} />
      </div>
      {doctor.data && (
        <Panel title={findings.length === 0 ? '✓ All is well' : 'Problems'}>
          {findings.length > 0 && <Findings findings={worstFirst(findings)} />}
        </Panel>
      )}
      <PolledContent polled={polled}>
        {({ maintenance_jobs, jobs, segments }) => (
          <>
            <Panel title="Maintenance jobs">
              <MaintenanceJobs rows={maintenance_jobs} />
            </Panel>
            <Panel title="pg_cron jobs">
              <Jobs rows={jobs} />
            </Panel>
            <Panel title="Segments">
              <Segments rows={segments.slice(0, 100)} />
            </Panel>
          </>
        )}
      </PolledContent>
      <Archive />
      <LimitTable />
    </>
  );
}
