import type pg from 'pg';
import type { Chaos } from '../chaos.ts';
import { bounds, everyMs } from '../load/queues.ts';
import { checkClaims } from './claims.ts';
import { brokenSentences } from './invariants.ts';
import { checkFires, checkStored, type Fire } from './stored.ts';

/** Queries that must return no row, each with the name of the difference. */
const mustBeEmpty: [kind: string, text: string][] = [
  ['a lease is open', 'select to_jsonb(l) as found from tock.leases l where closed_at is null'],
  [
    'a task still holds a concurrency key',
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

const firesQuery = `select schedule, extract(epoch from fire_at)::float8 * 1000 as fire_at, outcome, task_id::text
  from tock.schedule_history where fire_at is not null`;

/** After all work has ended, compares the journal with the stored tasks and checks the invariants. */
export async function check({ journal, ledger }: Chaos, client: pg.Client): Promise<void> {
  const stored = [...journal.stored.values()];
  const { rows: history } = await client.query<Fire>(firesQuery);
  for (const { kind, task, detail } of [
    ...checkClaims(journal, bounds),
    ...checkStored(journal, stored),
    ...checkFires(history, stored, everyMs),
  ]) {
    ledger.differ(kind, task, detail);
  }
  for (const [kind, text] of mustBeEmpty) {
    const { rows } = await client.query<{ found: unknown }>(text);
    for (const { found: difference } of rows.slice(0, 5))
      ledger.differ(kind, 0, JSON.stringify(difference));
  }
  for (const [sentence, count] of Object.entries(await brokenSentences(client))) {
    ledger.differ('an invariant does not hold', 0, `${sentence}: ${count}`);
  }
  const { rows } = await client.query("select * from tock.doctor() where severity <> 'note'");
  for (const { finding, severity, detail } of rows) {
    ledger.differ('the doctor reports a problem', 0, `${severity}: ${finding}: ${detail}`);
  }
}
