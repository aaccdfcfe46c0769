import { randomBytes } from 'node:crypto';
import { createApp } from '../../functions/app.ts';
import type { Connect } from '../../functions/query.ts';
import { type Service, service } from '../http/service.ts';
import { type Operation, operationsOf } from './document.ts';
import type { Plan } from './requests.ts';
import { jsonOf, Written } from './values.ts';

/** A request as it went out, and what came of it. */
export type Sent = {
  plan: Plan;
  /** To be typed again. */
  curl: string;
  /** The body's text, where there was one. */
  text: string | null;
  status: number;
  headers: Headers;
  answer: string;
  /** The digest before it. */
  before: string;
  /** What the database threw meanwhile. */
  errors: { code?: string; message: string }[];
};

export type Target = {
  tock: Service;
  operations: Operation[];
  send(plan: Plan): Promise<Sent>;
  /** A number that changes with any row of Tock's. */
  digest(): Promise<string>;
};

const most = 40;

// Other requests may end all of these, so that there are always some.
const sources: Record<string, string> = {
  id: `select i::text as value from unnest(tock.enqueue('a', '[{"payload": 1}, {"payload": 2, "delay_seconds": 60}]')) i`,
  lease: `with made as materialized (select tock.enqueue('b', '[{}, {}, {}]'))
    select c.lease::text as value from made cross join lateral tock.claim(p_queue => 'b', p_limit => 3) c limit 1`,
  prefix: `select k.prefix as value from tock.create_key(p_name => 'fuzz', p_scopes => '{read}') k`,
  cursor: "select '5b5d' as value",
};

/** Everything that may be picked in a later request, from an answer. */
function learn(known: Map<string, string[]>, value: unknown, name = ''): void {
  if (Array.isArray(value)) for (const one of value) learn(known, one, name.replace(/s$/, ''));
  else if (typeof value === 'object' && value !== null) {
    for (const [key, part] of Object.entries(value)) learn(known, part, key);
  } else if (typeof value === 'string' && name in sources) {
    const shaped = name !== 'id' || /^\d{1,19}$/.test(value);
    if (shaped) known.set(name, [value, ...(known.get(name) ?? [])].slice(0, most));
  }
}

const headerText = (value: string) =>
  // No header bears a control character but a tab.
  Buffer.from(
    Buffer.from(value).filter((byte) => byte === 9 || (byte > 31 && byte !== 127)),
  ).toString('latin1');

function curlOf(plan: Plan, path: string, headers: Headers, body: unknown): string {
  const named = [...headers].map(([name, value]) => `-H '${name}: ${value.slice(0, 200)}'`);
  const text =
    body instanceof Uint8Array ? `<${Buffer.from(body).toString('hex')}>` : String(body ?? '');
  return `curl -X ${plan.method} ${named.join(' ')} '$URL${path.slice(0, 1000)}' --data-raw ${JSON.stringify(text.slice(0, 2000))}`;
}

const digestOf = (tables: string[]) =>
  `select hashtextextended(string_agg(d, ',' order by d), 0)::text as digest from (${tables
    .map(
      (name) =>
        `select '${name} ' || count(*) || ' ' || coalesce(sum(hashtextextended(t::text, 0)::numeric), 0) from tock.${name} t`,
    )
    .join(' union all ')}) x (d)`;

/** The app on a database of its own, which remembers what it answered and what the database threw. */
export async function target(): Promise<Target> {
  const tock = await service();
  const errors: Sent['errors'] = [];
  const connect: Connect = (env, use) =>
    tock.connect(env, (query, most) =>
      use(async (text, values) => {
        try {
          return await query(text, values);
        } catch (error) {
          errors.push(error as Error);
          throw error;
        }
      }, most),
    );
  const app = createApp(connect);
  const env = {
    TOCK_PUSH_SECRET: randomBytes(32).toString('base64'),
    TOCK_ORIGINS: 'https://a.example',
  };
  const known = new Map<string, string[]>();
  const operations = operationsOf((await tock.send('GET /openapi.json')).body);
  const { rows } = await tock.owner.query(
    "select c.relname as name from pg_class c where c.relnamespace = 'tock'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1",
  );
  const digestText = digestOf(rows.map((row) => row.name));

  const digest = async () => (await tock.owner.query(digestText)).rows[0].digest;

  async function picked(kind: string, n: number): Promise<string> {
    const all = known.get(kind) ?? [];
    // A lease may have ended since: a new one as often as not.
    if (all.length === 0 || (kind === 'lease' && n % 2 === 0)) {
      const made = await tock.owner.query(sources[kind] as string);
      for (const row of made.rows) learn(known, row.value, kind);
    }
    const values = known.get(kind) ?? ['1'];
    return values[n % Math.min(values.length, 4)] as string;
  }

  async function filled(value: unknown): Promise<unknown> {
    if (Array.isArray(value)) return Promise.all(value.map(filled));
    if (typeof value !== 'object' || value === null || value instanceof Written) return value;
    if ('pick' in value) return picked(value.pick as string, (value as unknown as { n: number }).n);
    const made: Record<string, unknown> = {};
    for (const [key, part] of Object.entries(value)) {
      Object.defineProperty(made, key, { value: await filled(part), enumerable: true });
    }
    return made;
  }

  async function pathOf({ path, params, query }: Plan): Promise<string> {
    const given = (await filled(params)) as Record<string, string>;
    const whole = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(given[name] ?? ''));
    const pairs = (await Promise.all(query.map(filled))) as [string, unknown][];
    const asked = pairs.map((pair) => pair.map((one) => encodeURIComponent(String(one))).join('='));
    return asked.length === 0 ? whole : `${whole}?${asked.join('&')}`;
  }

  async function send(plan: Plan): Promise<Sent> {
    const path = await pathOf(plan);
    const body = await filled(plan.body);
    const headers = new Headers({ authorization: `Bearer ${tock.key}` });
    const content = plan.raw ?? (body === null ? null : jsonOf(body));
    if (content !== null) headers.set('content-type', 'application/json');
    for (const [name, value] of Object.entries(plan.headers)) headers.set(name, headerText(value));
    const before = await digest();
    errors.length = 0;
    const init = { method: plan.method, headers, body: content as BodyInit | null };
    const response = await app.request(path, init, env);
    const answer = await response.text();
    if (response.ok && answer) learn(known, JSON.parse(answer));
    const text = content === null ? null : Buffer.from(content).toString();
    const { status } = response;
    const curl = curlOf(plan, path, headers, content);
    return {
      plan,
      curl,
      text,
      status,
      headers: response.headers,
      answer,
      before,
      errors: [...errors],
    };
  }

  return { tock, operations, send, digest };
}
