import type pg from 'pg';
import { Written } from './values.ts';

/** Values from earlier answers: ids, leases, cursors, prefixes of keys. */
export type KnownIds = {
  learn(value: unknown, name?: string): void;
  /** A copy in which each Pick is replaced by a known value. */
  filled(value: unknown): Promise<unknown>;
};

const most = 40;
const queues = ['ids', 'leases', 'cursors'];

// These statements make new values, because requests may have ended all earlier ones. No request names their queues.
const sources: Record<string, string> = {
  id: `select i::text as value from unnest(tock.enqueue('ids', '[{"payload": 1}, {"payload": 2, "delay_seconds": 60}]')) i`,
  lease: `with made as materialized (select tock.enqueue('leases', '[{}, {}, {}]'))
    select c.lease::text as value from made cross join lateral tock.claim(p_queue => 'leases', p_limit => 3) c limit 1`,
  prefix: `select k.prefix as value from tock.create_key(p_name => 'fuzz', p_scopes => '{read}') k`,
  cursor:
    "select t.cursor as value from tock.enqueue('cursors', '[{}, {}, {}]'), tock.tasks(p_filter => '{\"queue\": \"cursors\"}', p_limit => 1) t",
};

/** Collects known values, except `key`: the requests use it, so none of them may end it. */
export async function collectKnownIds(owner: pg.Client, key: string): Promise<KnownIds> {
  // The queues are created now, because a request may change the default policy later.
  for (const queue of queues) await owner.query('select tock.put_queue(p_queue => $1)', [queue]);
  const values = new Map<string, string[]>();

  function keep(name: string, value: string): void {
    if (name === 'id' && !/^\d{1,19}$/.test(value)) return;
    if (name === 'prefix' && key.startsWith(value)) return;
    values.set(name, [value, ...(values.get(name) ?? [])].slice(0, most));
  }

  function learn(value: unknown, name = ''): void {
    if (Array.isArray(value)) for (const item of value) learn(item, name.replace(/s$/, ''));
    else if (typeof value === 'object' && value !== null) {
      for (const [field, part] of Object.entries(value)) learn(part, field);
    } else if (typeof value === 'string' && name in sources) keep(name, value);
  }

  async function picked(kind: string, n: number): Promise<string> {
    // An earlier lease may have ended, so most picks of a lease make a new one.
    if (!values.has(kind) || (kind === 'lease' && n % 4 > 0)) {
      const { rows } = await owner.query(sources[kind] as string);
      for (const row of rows) learn(row.value, kind);
    }
    const [first = '1', ...others] = values.get(kind) ?? [];
    return others[(n % 4 === 0 ? n / 4 : 0) - 1] ?? first;
  }

  async function filled(value: unknown): Promise<unknown> {
    if (typeof value !== 'object' || value === null || value instanceof Written) return value;
    const made: [string, unknown][] = [];
    if ('pick' in value && 'n' in value) return picked(String(value.pick), Number(value.n));
    for (const [field, part] of Object.entries(value)) made.push([field, await filled(part)]);
    return Array.isArray(value) ? made.map(([, part]) => part) : Object.fromEntries(made);
  }

  return { learn, filled };
}
