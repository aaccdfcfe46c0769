import type { ComponentChildren } from 'preact';
import type { Answer } from '../../client/wire.ts';
import { bytes, count, duration, some } from '../format.ts';
import { useLive } from '../live.ts';
import { Findings, worstFirst } from '../parts/findings.tsx';
import { Ago, Panel, Shown, Updated } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { useMay } from '../session.tsx';

type Inside = Answer<'GET /v1/maintenance'>;

function MaintenanceJobs({ rows }: { rows: Inside['maintenance_jobs'] }) {
  return (
    <Table
      label="MaintenanceJobs"
      rows={rows}
      id={({ name }) => name}
      none="There are no maintenance jobs: run tock migrate."
      columns={[
        { name: 'MaintenanceJob', by: (d) => d.name, show: (d) => d.name },
        {
          name: 'Every',
          number: true,
          by: (d) => d.every_seconds,
          show: (d) => duration(d.every_seconds),
        },
        { name: 'Last well', show: (d) => <Ago at={d.last_ok_at} /> },
        {
          name: 'Late',
          number: true,
          by: (d) => d.late_seconds ?? 0,
          show: (d) =>
            d.late_seconds ? <strong class="late">{duration(d.late_seconds)}</strong> : 'no',
        },
        { name: 'Did', number: true, show: (d) => count(d.last_amount) },
        { name: 'Took', number: true, show: (d) => duration(d.last_seconds) },
        { name: 'Failures', number: true, by: (d) => d.failures, show: (d) => count(d.failures) },
        { name: 'Error', show: (d) => <span class="error">{d.last_error}</span> },
      ]}
    />
  );
}

function Jobs({ rows }: { rows: Inside['jobs'] }) {
  return (
    <Table
      label="Jobs of pg_cron"
      rows={rows}
      id={({ jobname }) => jobname}
      none="pg_cron is not in this database: something else has to call tock.tick()."
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

function Segments({ rows }: { rows: Inside['segments'] }) {
  return (
    <Table
      label="Segments"
      rows={rows}
      id={({ number }) => String(number)}
      none="There are no segments: run tock migrate."
      columns={[
        { name: 'Segment', number: true, by: (e) => e.number, show: (e) => e.number },
        { name: 'State', show: ({ state }) => state },
        { name: 'Started', show: ({ started_at }) => <Ago at={started_at} /> },
        { name: 'Settled', show: ({ closed_at }) => <Ago at={closed_at} /> },
        { name: 'Runs, about', number: true, by: (e) => e.runs ?? 0, show: (e) => count(e.runs) },
        { name: 'Size', number: true, by: (e) => e.bytes ?? 0, show: (e) => bytes(e.bytes) },
      ]}
    />
  );
}

function LimitTable() {
  const live = useLive('GET /v1/limits', {}, 5000);
  if (!live.data || live.data.limits.length === 0) return null;
  return (
    <Panel title="Limits of queues" side={<Updated at={live.at} />}>
      <Table
        label="Limits"
        rows={live.data.limits.slice(0, 100)}
        id={({ queue }) => queue}
        none=""
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
            name: 'In the bucket',
            number: true,
            show: (l) => (l.level == null ? '–' : count(Math.floor(l.level))),
          },
        ]}
      />
    </Panel>
  );
}

function Keys() {
  const live = useLive('GET /v1/keys', {}, 30_000);
  return (
    <Panel title="Keys" side={<Updated at={live.at} />}>
      <Shown live={live}>
        {({ keys }) => (
          <Table
            label="Keys"
            rows={keys.filter(({ revoked_at }) => !revoked_at).slice(0, 100)}
            id={({ prefix }) => prefix}
            none="There is no key."
            columns={[
              { name: 'Key', show: ({ prefix }) => <code>{prefix}</code> },
              { name: 'Name', show: ({ name }) => name },
              { name: 'May', show: ({ scopes }) => scopes.join(', ') },
              { name: 'Queues', show: ({ queues }) => queues?.join(', ') ?? 'all' },
              { name: 'Tenants', show: ({ tenants }) => tenants?.join(', ') ?? 'all' },
              { name: 'Last used', show: ({ last_used_at }) => <Ago at={last_used_at} /> },
              { name: 'Expires', show: ({ expires_at }) => <Ago at={expires_at} /> },
            ]}
          />
        )}
      </Shown>
    </Panel>
  );
}

function Acts() {
  const live = useLive('GET /v1/audit-log', { query: { limit: 50 } }, 30_000);
  return (
    <Panel title="Who governed what" side={<Updated at={live.at} />}>
      <Shown live={live}>
        {({ acts }) => (
          <Table
            label="Acts"
            rows={acts}
            id={({ number }) => number}
            none="Nobody has governed anything yet."
            columns={[
              { name: 'When', show: ({ at }) => <Ago at={at} /> },
              { name: 'Who', show: ({ role, key_name }) => key_name ?? role },
              { name: 'Did', show: ({ verb }) => verb },
              { name: 'To', show: ({ object }) => object },
              {
                name: 'Detail',
                show: ({ detail }) => <code class="brief">{JSON.stringify(detail)}</code>,
              },
            ]}
          />
        )}
      </Shown>
    </Panel>
  );
}

function Archive() {
  const live = useLive('GET /v1/archive', {}, 30_000);
  if (!live.data) return null;
  const { enabled, waiting, exported, files, rows, bytes: size, failures, last_error } = live.data;
  const facts: [string, ComponentChildren][] = [
    ['state', enabled ? 'on' : 'off: old history is dropped'],
    ['segments there', count(exported)],
    ['segments that wait', count(waiting)],
    ['files', count(files)],
    ['runs', count(rows)],
    ['size', bytes(size)],
    ['erasures that wait', count(live.data.erasures_pending)],
    ['last step', <Ago key="at" at={live.data.last_step_at} />],
  ];
  return (
    <Panel title="Archive" side={<Updated at={live.at} />}>
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
          {some(failures, 'step')} failed, the latest with: {last_error}
        </p>
      )}
    </Panel>
  );
}

/** What goes on inside: for whoever keeps it running. */
export function System() {
  const live = useLive('GET /v1/maintenance', {}, 5000);
  const doctor = useLive('GET /v1/doctor', {}, 15_000);
  const may = useMay();
  const findings = doctor.data?.findings ?? [];
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>System</h1>
        <Updated at={live.at} />
      </div>
      {doctor.data && (
        <Panel title={findings.length === 0 ? '✓ All is well' : 'What the doctor found'}>
          {findings.length > 0 && <Findings findings={worstFirst(findings)} />}
        </Panel>
      )}
      <Shown live={live}>
        {({ maintenance_jobs, jobs, segments }) => (
          <>
            <Panel title="MaintenanceJobs">
              <MaintenanceJobs rows={maintenance_jobs} />
            </Panel>
            <Panel title="Jobs of pg_cron">
              <Jobs rows={jobs} />
            </Panel>
            <Panel title="Segments">
              <Segments rows={segments.slice(0, 100)} />
            </Panel>
          </>
        )}
      </Shown>
      <Archive />
      <LimitTable />
      {may('admin') && <Keys />}
      {may('admin') && <Acts />}
    </>
  );
}
