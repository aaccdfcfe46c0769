import { randomBytes } from 'node:crypto';
import type { Connect } from '../../functions/database/types.ts';
import { createApp } from '../../functions/http/app.ts';
import { type Service, service } from '../http/service.ts';
import { type Operation, operationsOf } from './document.ts';
import { collectKnownIds } from './known_ids.ts';
import type { Plan } from './requests.ts';
import { jsonOf } from './values.ts';

/** A request as it was sent, and its answer. */
export type Sent = {
  plan: Plan;
  path: string;
  /** A command that repeats the request. */
  curl: string;
  /** The text of the body, null without one. */
  text: string | null;
  status: number;
  headers: Headers;
  answer: string;
  /** The digest before the request. */
  before: string;
  /** The errors that the database threw during the request. */
  errors: { code?: string; message: string }[];
};

export type Target = {
  tock: Service;
  operations: Operation[];
  send(plan: Plan): Promise<Sent>;
  /** Sends a request: to the app in this process, unless a test replaces this function. */
  request(path: string, init: RequestInit): Promise<Response>;
  /** A digest of all rows of Tock. */
  digest(): Promise<string>;
};

const headerText = (value: string) =>
  // A header may contain no control character except a tab.
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

/**
 * Starts the app on a new database. It remembers values of its answers, and errors of the database. `way` may replace
 * the connection.
 */
export async function target(way?: (tock: Service) => Promise<Connect>): Promise<Target> {
  const tock = await service();
  const errors: Sent['errors'] = [];
  const open = (await way?.(tock)) ?? tock.connect;
  const connect: Connect = (env, use) =>
    open(env, (query, most) =>
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
  const { learn, filled } = await collectKnownIds(tock.owner, tock.key);
  const operations = operationsOf((await tock.send('GET /openapi.json')).body);
  const { rows } = await tock.owner.query(
    "select c.relname as name from pg_class c where c.relnamespace = 'tock'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1",
  );
  const digestText = digestOf(rows.map((row) => row.name));

  const digest = async () => (await tock.owner.query(digestText)).rows[0].digest;

  async function pathOf({ path, params, query }: Plan): Promise<string> {
    const values = (await filled(params)) as Record<string, string>;
    const whole = path.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values[name] ?? ''));
    const pairs = (await Promise.all(query.map(filled))) as [string, unknown][];
    const parameters = pairs.map((pair) =>
      pair.map((part) => encodeURIComponent(String(part))).join('='),
    );
    return parameters.length === 0 ? whole : `${whole}?${parameters.join('&')}`;
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
    const response = await made.request(path, init);
    const answer = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    if (response.ok && answer && isJson) learn(JSON.parse(answer));
    const text = content === null ? null : Buffer.from(content).toString();
    const { status } = response;
    const curl = curlOf(plan, path, headers, content);
    return {
      plan,
      path,
      curl,
      text,
      status,
      headers: response.headers,
      answer,
      before,
      errors: [...errors],
    };
  }

  const made: Target = {
    tock,
    operations,
    send,
    digest,
    request: async (path, init) => app.request(path, init, env),
  };
  return made;
}
