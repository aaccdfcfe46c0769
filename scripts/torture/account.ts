import type pg from 'pg';
import { brokenSentences } from '../../test/sql/audit.ts';
import type { Facts } from './facts.ts';
import { judgeClaims } from './judge_claims.ts';
import { judgeStored, type Stored } from './judge_stored.ts';
import { caps, limits, rates } from './queues.ts';
import type { Torture } from './torture.ts';

// The number is where it was put, or where gathered results and spawned tasks have wrapped it.
const tasksOf = `
  select distinct on (t.id) t.id::text as id, coalesce((t.payload ->> 'n')::bigint, (t.payload #>> '{payload,n}')::bigint, 0)::float8 as n
  from (
    select coalesce(r.task_id, r.position << 20 | r.stream) as id, r.position, r.payload from tock.runs r
    union all
    select coalesce(w.task_id, w.position << 20), w.position, w.payload from tock.waiting w
  ) t order by t.id, t.position`;

const statesOf = `select i.id::text as id, w.state
  from unnest($1::bigint[]) with ordinality i (id, n) join tock.whereabouts($1::bigint[]) w on w.n = i.n`;

/** Every task that the tables know, and every one that somebody was told of, if they do. */
export async function storedTasks(on: pg.Client, facts: Facts): Promise<Stored[]> {
  const numbers = new Map<string, number>();
  for (const { n, id } of facts.asks.values()) if (id && !numbers.has(id)) numbers.set(id, n);
  for (const { id } of facts.reruns) numbers.set(id, 0);
  const { rows } = await on.query<{ id: string; n: number }>(tasksOf);
  for (const { id, n } of rows) numbers.set(id, n);
  const { rows: reruns } = await on.query<{ id: string; of: string }>(
    'select id::text, of_id::text as of from tock.reruns',
  );
  const rerunOf = new Map(reruns.map(({ id, of }) => [id, of]));
  const ids = [...numbers.keys()];
  const stored: Stored[] = [];
  for (let at = 0; at < ids.length; at += 2000) {
    const part = await on.query<{ id: string; state: string }>(statesOf, [
      ids.slice(at, at + 2000),
    ]);
    for (const { id, state } of part.rows) {
      stored.push({ id, state, n: numbers.get(id) ?? 0, rerunOf: rerunOf.get(id) ?? null });
    }
  }
  return stored;
}

/** What must give no row, and what it is called if it does. */
const none: [kind: string, text: string][] = [
  ['a lease is open', 'select to_jsonb(l) as found from tock.leases l where closed_at is null'],
  [
    'somebody is inside a gate',
    'select to_jsonb(g) as found from tock.queues q, tock.gates(q.name) g where q.name <> $$*$$ and (g.inside <> $${}$$ or g.waiting > 0)',
  ],
  [
    'a fire came twice',
    `select to_jsonb(f) as found from (select schedule, fire_at, count(*) from tock.fired
     where outcome in ('fired', 'run') group by 1, 2 having count(*) > 1) f`,
  ],
  [
    'a fire is missing',
    `select to_jsonb(f) as found from (select schedule, fire_at, lead(fire_at) over (order by fire_at) as next_at
     from tock.fired where schedule = 'each-second') f where f.next_at > f.fire_at + interval '1 s'`,
  ],
  [
    "a schedule's task without a fire, or a fire without one",
    `select coalesce(to_jsonb(f), to_jsonb(t)) as found from (
       select coalesce(r.task_id, r.position << 20 | r.stream) as id from tock.runs r
       join tock.streams s on s.number = r.stream
       where s.queue = 'clock' and coalesce(r.task_id, r.position << 20 | r.stream) not in (select id from tock.reruns) group by 1) t
     full join (select task_id, count(*) from tock.fired where task_id is not null group by 1) f on f.task_id = t.id
     where t.id is null or f.task_id is null or f.count > 1`,
  ],
  [
    'a report',
    "select to_jsonb(r) as found from tock.reports r where r.detail ->> 'found' is distinct from 'new'",
  ],
  ['a duty is failing', 'select to_jsonb(d) as found from tock.duties d where d.failures > 0'],
  ['a prepared transaction is left', 'select to_jsonb(p) as found from pg_prepared_xacts p'],
];

/** What was said against what is stored, and what must hold of any state. */
export async function account(torture: Torture, on: pg.Client): Promise<void> {
  const { facts, ledger, say } = torture;
  const stored = await storedTasks(on, facts);
  say(
    `  ${facts.asks.size} tasks were asked for, ${stored.length} are stored, ${facts.claims.length} claims and ${facts.ends.length} ends were heard.`,
  );
  for (const { kind, task, detail } of [
    ...judgeClaims(facts, { limits, caps, rates }),
    ...judgeStored(facts, stored),
  ]) {
    ledger.differ(kind, Number(task), detail);
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
