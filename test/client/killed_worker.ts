// A worker that kills itself at a point of its second task, in a process of its own.
// usage: node killed_worker.ts http|sql <point> <queue>, URLs and the key in the environment
import pg from 'pg';
import type { SqlContext, SqlPool } from '../../client/sql.ts';

// test/mutants/run.ts changes a copy.
const { TOCK_CLIENT_DIRECTORY = '../../client' } = process.env;
const { createTock } = await import(`${TOCK_CLIENT_DIRECTORY}/index.ts`);
const { workSql } = await import(`${TOCK_CLIENT_DIRECTORY}/sql.ts`);

const [kind = '', point = '', queue = ''] = process.argv.slice(2);
const { TOCK_URL = '', TOCK_KEY = '', DATABASE_URL = '' } = process.env;
let tasks = 0;

/** Nothing of the process goes on after this, not even what it has begun to send. */
function at(place: string): void {
  if (place === point && tasks >= 2) process.kill(process.pid, 'SIGKILL');
}

const options = { until: 'empty', prefetch: { low: 1, high: 3 } } as const;
const effect = 'insert into effects (task) values ($1)';
const pool = new pg.Pool({ connectionString: DATABASE_URL, application_name: queue, max: 3 });

/** What a handler does, with the points around its effect. */
async function handle(id: string, query: (text: string, values: string[]) => Promise<unknown>) {
  tasks++;
  at('begun');
  await query(effect, [id]);
  at('effect');
}

const points = (text: string) => (/tock\.complete/.test(text) ? 'complete' : text);

/** Dies before a statement is sent, with it on its way, or when it is answered. */
function watched(client: pg.PoolClient) {
  const query = client.query.bind(client) as (
    text: string,
    values?: unknown[],
  ) => Promise<{ rows: [] }>;
  return Object.assign(Object.create(client), {
    async query(text: string, values?: unknown[]) {
      const name = points(text);
      at(`${name}, before`);
      const answer = query(text, values);
      at(`${name}, sent`);
      const answered = await answer;
      at(`${name}, answered`);
      return answered;
    },
    release: (error?: Error) => client.release(error),
  });
}

if (kind === 'sql') {
  const watching: SqlPool = {
    query: (text, values) => pool.query(text, values),
    connect: async () => watched(await pool.connect()),
  };
  await workSql(
    watching,
    queue,
    (task: { id: string }, { client }: SqlContext) =>
      handle(task.id, (text, values) => client.query(text, values)),
    options,
  );
} else {
  const tock = createTock({
    url: TOCK_URL,
    key: TOCK_KEY,
    async fetch(url: string, init: RequestInit) {
      const name = url.split('/').at(-1) ?? '';
      at(`${name}, before`);
      const answer = fetch(url, init);
      at(`${name}, sent`);
      const answered = await answer;
      at(`${name}, answered`);
      return answered;
    },
  });
  const query = (text: string, values: string[]) => pool.query(text, values);
  await tock.work(queue, (task: { id: string }) => handle(task.id, query), options);
}
