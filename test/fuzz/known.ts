import type pg from 'pg';
import { Written } from './values.ts';

/** What earlier answers gave: ids, leases, cursors, prefixes of keys. */
export type Known = {
  learn(value: unknown, name?: string): void;
  /** A copy with what it picks filled in. */
  filled(value: unknown): Promise<unknown>;
};

const most = 40;

// Other requests may end all of these, so there are always some new ones.
const sources: Record<string, string> = {
  id: `select i::text as value from unnest(tock.enqueue('a', '[{"payload": 1}, {"payload": 2, "delay_seconds": 60}]')) i`,
  lease: `with made as materialized (select tock.enqueue('b', '[{}, {}, {}]'))
    select c.lease::text as value from made cross join lateral tock.claim(p_queue => 'b', p_limit => 3) c limit 1`,
  prefix: `select k.prefix as value from tock.create_key(p_name => 'fuzz', p_scopes => '{read}') k`,
  cursor: "select '5b5d' as value",
};

/** `key` is the one that the requests are made with: none may end it. */
export function known(owner: pg.Client, key: string): Known {
  const values = new Map<string, string[]>();

  function keep(name: string, value: string): void {
    if (name === 'id' && !/^\d{1,19}$/.test(value)) return;
    if (name === 'prefix' && key.startsWith(value)) return;
    values.set(name, [value, ...(values.get(name) ?? [])].slice(0, most));
  }

  function learn(value: unknown, name = ''): void {
    if (Array.isArray(value)) for (const one of value) learn(one, name.replace(/s$/, ''));
    else if (typeof value === 'object' && value !== null) {
      for (const [field, part] of Object.entries(value)) learn(part, field);
    } else if (typeof value === 'string' && name in sources) keep(name, value);
  }

  async function picked(kind: string, n: number): Promise<string> {
    // A lease may have ended since: a new one as often as not.
    if (!values.has(kind) || (kind === 'lease' && n % 2 === 0)) {
      const { rows } = await owner.query(sources[kind] as string);
      for (const row of rows) learn(row.value, kind);
    }
    const [first = '1', ...others] = values.get(kind) ?? [];
    return others[(n % 4) - 1] ?? first;
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
