import type pg from 'pg';
import type { Chaos } from '../chaos.ts';
import { bounds, everyMs } from '../load/queues.ts';
import { judgeClaims } from './claims.ts';
import { brokenSentences } from './sentences.ts';
import { type Fire, judgeFires, judgeStored } from './stored.ts';

/** What must give no row, and what it is called if it does. */
const none: [kind: string, text: string][] = [
  ['a lease is open', 'select to_jsonb(l) as found from tock.leases l where closed_at is null'],
  [
    'a task is left in a concurrency key',
    'select to_jsonb(g) as found from tock.queues q, tock.concurrency_keys(q.name) g where q.name <> $$*$$ and (g.holders <> $${}$$ or g.waiting > 0)',
  ],
  [
    'a report',
    "select to_jsonb(r) as found from tock.reports r where r.detail ->> 'found' is distinct from 'new'",
  ],
  [
    'a maintenance job is failing',
    'select to_jsonb(d) as found from tock.maintenance_jobs d where d.failures > 0',
  ],
  ['a prepared transaction is left', 'select to_jsonb(p) as found from pg_prepared_xacts p'],
];

const fires = `select schedule, extract(epoch from fire_at)::float8 * 1000 as fire_at, outcome, task_id::text
  from tock.schedule_history where fire_at is not null`;

/** The journal against what was stored, and what must hold of any state once all work has ended. */
export async function judge({ journal, ledger }: Chaos, on: pg.Client): Promise<void> {
  const stored = [...journal.stored.values()];
  const { rows: fired } = await on.query<Fire>(fires);
  for (const { kind, task, detail } of [
    ...judgeClaims(journal, bounds),
    ...judgeStored(journal, stored),
    ...judgeFires(fired, stored, everyMs),
  ]) {
    ledger.differ(kind, task, detail);
  }
  for (const [kind, text] of none) {
    const { rows } = await on.query<{ found: unknown }>(text);
    for (const { found } of rows.slice(0, 5)) ledger.differ(kind, 0, JSON.stringify(found));
  }
  for (const [sentence, count] of Object.entries(await brokenSentences(on))) {
    ledger.differ('a sentence of the audit does not hold', 0, `${sentence}: ${count}`);
  }
  const { rows } = await on.query("select * from tock.doctor() where severity <> 'note'");
  for (const { finding, severity, detail } of rows) {
    ledger.differ('the doctor is not content', 0, `${severity}: ${finding}: ${detail}`);
  }
}
