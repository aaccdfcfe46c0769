import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { parse as yaml } from 'yaml';
import { type Family, parse } from './exposition.ts';
import { fileService } from './file_service.ts';

const tock = fileService();
const count = () => tock.owner.query('select tock.collect_metrics()');

/** Creates a ready task, a running one, a done one, a dead one and a waiting one. */
beforeAll(async () => {
  await tock.add('shop', {}, {}, {}, {}, { delay_seconds: 3600 });
  const { lease, tasks } = await tock.claim('shop', { limit: 2 });
  await tock.post(`leases/${lease}/fail`, { failures: [{ id: tasks[0].id, fatal: true }] });
  await tock.post(`leases/${lease}/complete`);
  await tock.claim('shop');
  await tock.send('PUT /v1/queues/idle', { body: { paused: true } });
  await count();
});

async function scrape(): Promise<Map<string, Family>> {
  const { status, headers, text } = await tock.send('GET /metrics');
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return parse(text);
}

const samples = (family: Family | undefined) =>
  Object.fromEntries(
    (family?.samples ?? []).map(({ name, labels, value }) => [
      [name, ...Object.values(labels)].join(' '),
      value,
    ]),
  );

test('/metrics is valid text for Prometheus, with depths and counters', async () => {
  const families = await scrape();
  const all = Object.assign({}, ...[...families.values()].map(samples));
  expect(all).toMatchObject({
    'tock_queue_ready shop': 1,
    'tock_queue_running shop': 1,
    'tock_queue_waiting shop': 1,
    'tock_queue_dead shop': 1,
    'tock_queue_ready idle': 0,
    'tock_queue_paused shop': 0,
    'tock_queue_paused idle': 1,
    'tock_leases_open shop': 1,
    'tock_tasks_enqueued_total shop': 4,
    'tock_tasks_dead_total shop': 1,
    'tock_runs_started_total shop': 3,
    'tock_runs_passed_total shop': 0,
    'tock_runs_lost_total shop': 0,
    'tock_runs_finished_total shop done': 1,
    'tock_runs_finished_total shop failed': 1,
    'tock_runs_finished_total shop returned': 0,
    'tock_run_wait_seconds_count shop': 3,
    'tock_run_duration_seconds_count shop': 2,
    'tock_run_duration_seconds_bucket shop 60': 2,
    'tock_run_duration_seconds_count idle': 0,
    'tock_maintenance_job_failures collect_metrics': 0,
    tock_segments: 3,
  });
  expect(all['tock_queue_oldest_ready_age_seconds shop']).toBeGreaterThan(0);
  expect(all.tock_metrics_age_seconds).toBeGreaterThan(0);
  expect(all['tock_maintenance_job_late_seconds prune']).toBe(0);
});

test('the parser of these tests finds mistakes', async () => {
  const { text } = await tock.send('GET /metrics');
  for (const [find, replace, why] of [
    ['# TYPE tock_queue_ready gauge\n', '', 'of another family'],
    ['{queue="shop"}', '{queue="sh"op"}', 'labels'],
    ['_count{queue="shop"} 3', '_count{queue="shop"} 4', 'count is not that of +Inf'],
  ] as const) {
    expect(() => parse(text.replace(find, replace)), why).toThrow(why);
  }
});

test('quotes, backslashes and newlines in labels are escaped', async () => {
  const name = 'a "b" \\ c\nd';
  const { rows } = await tock.owner.query('select tock.label($1) as label', [name]);
  const text = `# HELP a b\n# TYPE a gauge\na{queue=${rows[0].label}} 1\n`;
  expect(parse(text).get('a')?.samples[0]?.labels).toEqual({ queue: name });
});

test('counters never decrease, even after their tasks are dropped', async () => {
  const before = samples((await scrape()).get('tock_runs_started_total'));
  await tock.owner.query('delete from tock.queue_metrics');
  await count();
  expect(samples((await scrape()).get('tock_runs_started_total'))).toEqual(before);
});

test('a key for some queues sees only the series of these queues, and no totals', async () => {
  const key = await tock.makeKey(['read'], ['shop']);
  for (const route of ['GET /metrics', 'GET /v1/series', 'GET /v1/overview']) {
    expect(await tock.send(route, { key }), route).toMatchObject({ status: 403 });
  }
  expect(await tock.send('GET /v1/queues/shop/series', { key })).toMatchObject({ status: 200 });
  expect(await tock.send('GET /v1/queues/idle/series', { key })).toMatchObject({ status: 403 });
  const enqueuer = await tock.makeKey(['enqueue']);
  expect(await tock.send('GET /metrics', { key: enqueuer })).toMatchObject({ status: 403 });
});

test('the overview has each queue with rates, and its last half hour by the minute', async () => {
  // Dates the collected activity back, while the depths are those of now. Rates cover one minute, p95 covers five.
  await tock.add('shop', {}, {}, {});
  await count();
  await tock.owner.query("delete from tock.queue_metrics where queue in ('shop', '*')");
  await tock.owner.query(
    `insert into tock.queue_metrics (queue, at, width_seconds, enqueued, started, done, failed, ready, wait_seconds, run_seconds, wait, run)
     select 'shop', date_trunc('minute', finished_at) - m.minutes * interval '1 minute', 60, m.enqueued, 30, 12, 6, 4, 60, 50 * m.seconds,
       tock.histogram(array[tock.bucket_of(0.6)], '{100}'),
       tock.histogram(array[tock.bucket_of(m.seconds)], '{50}')
     from tock.metrics_progress, (values (1, 60, 4), (4, 600, 6), (6, 6000, 600)) as m (minutes, enqueued, seconds)`,
  );
  // A round that counted no task of the shop.
  await tock.owner.query(
    `insert into tock.queue_metrics (queue, at, width_seconds, ready)
     select '*', date_trunc('minute', finished_at) - interval '2 minutes', 60, 0 from tock.metrics_progress`,
  );
  const { body } = await tock.send('GET /v1/overview');
  expect(body.queues).toMatchObject([
    { name: 'idle', paused: true, ready: 0, wait_p95: null, spark: { ready: [], done: [] } },
    {
      name: 'shop',
      paused: false,
      ready: 4,
      running: 1,
      waiting: 1,
      dead: 1,
      enqueued_per_second: 1,
      started_per_second: 0.5,
      done_per_second: 0.2,
      failed_per_second: 0.1,
    },
  ]);
  const [, shop] = body.queues;
  expect(shop.wait_p95).toBeCloseTo(Math.sqrt(0.5 * 0.7));
  expect(shop.run_p95).toBeCloseTo(Math.sqrt(5 * 7));
  const minutes = (value: number, others: 0 | null) =>
    Array.from({ length: 30 }, (_, n) => ([29, 26, 24].includes(n) ? value : others));
  expect(shop.spark).toEqual({ ready: minutes(4, null).with(28, 0), done: minutes(12, 0) });
  const { points } = (await tock.send('GET /v1/queues/shop/series')).body;
  const point = points.find(({ enqueued }: { enqueued: number }) => enqueued === 60);
  expect([point.wait.mean, point.run.mean]).toEqual([0.6, 4]);
});

const folder = join(import.meta.dirname, '../../monitoring');
const read = (file: string) => readFileSync(join(folder, file), 'utf8');

test('the metrics and labels that the dashboard and the alerts use exist', async () => {
  const samples = [...(await scrape()).values()].flatMap((family) => family.samples);
  const known = new Set(samples.map(({ name }) => name));
  const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
  const dashboard = JSON.parse(read('tock-dashboard.json'));
  const queries: string[] = dashboard.panels.flatMap((panel: { targets?: { expr: string }[] }) =>
    (panel.targets ?? []).map(({ expr }) => expr),
  );
  const [group] = yaml(read('alerts.yaml')).groups;
  const rules: { alert: string; expr: string; annotations: Record<string, string> }[] = group.rules;
  expect(queries.length).toBeGreaterThan(8);
  expect(rules).toHaveLength(7);
  const all = [...queries, ...rules.map(({ expr }) => expr)].join('\n');
  expect((all.match(/\btock_[a-z_]+/g) ?? []).filter((name) => !known.has(name))).toEqual([]);
  const groupings = [...all.matchAll(/\b(?:by|on|without|ignoring) ?\(([^)]*)\)/g)];
  const grouped = groupings.flatMap(([, list = '']) => list.split(/, ?/));
  expect(grouped.length).toBeGreaterThan(3);
  expect(grouped.filter((label) => !labels.has(label))).toEqual([]);
  for (const { alert, annotations } of rules) {
    expect(annotations.runbook, alert).toContain('tock doctor');
    expect(annotations.summary, alert).toBeTruthy();
  }
});

test.each([
  ['to=0001-01-01T00:00:00Z', 'to'],
  ['from=1969-12-31T23:59:59Z', 'from'],
  ['from=2030-01-02T00:00:00Z&to=2030-01-01T00:00:00Z', 'to'],
  ['step_seconds=61', 'step_seconds'],
  ['from=2000-01-01T00:00:00Z&step_seconds=3600', 'step_seconds'],
])('a series refuses instants before 1970 and too many points: %s', async (query, field) => {
  for (const path of ['/v1/series', '/v1/queues/q/series']) {
    const { status, body } = await tock.send(`GET ${path}?${query}`);
    expect([path, status, body.field]).toEqual([path, 422, field]);
  }
});
