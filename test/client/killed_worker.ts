// A worker process that kills itself at a point of its second task. Usage: node killed_worker.ts http|sql <point>
// <queue>, with URLs and the key in the environment
import pg from 'pg';
import type { SqlContext, SqlPool } from '../../client/sql.ts';

// test/mutants/run.ts sets this variable to a changed copy of client/.
const { TOCK_CLIENT_DIRECTORY = '../../client' } = process.env;
const { createTock } = await import(`${TOCK_CLIENT_DIRECTORY}/index.ts`);
const { workSql } = await import(`${TOCK_CLIENT_DIRECTORY}/sql.ts`);

const [kind = '', point = '', queue = ''] = process.argv.slice(2);
const { TOCK_URL = '', TOCK_KEY = '', DATABASE_URL = '' } = process.env;
let tasks = 0;

/** Kills the process if it is at the point. After that it does not even send what it has written to its sockets. */
function at(place: string): void {
  if (place === point && tasks >= 2) process.kill(process.pid, 'SIGKILL');
}

const options = { until: 'empty', prefetch: { low: 1, high: 3 } } as const;
const effect = 'insert into effects (task) values ($1)';
const pool = new pg.Pool({ connectionString: DATABASE_URL, application_name: queue, max: 3 });

/** The handler: one effect, with points before and after it. */
async function handle(id: string, query: (text: string, values: string[]) => Promise<unknown>) {
  tasks++;
  at('begun');
  await query(effect, [id]);
  at('effect');
}

const points = (text: string) => (/tock\.complete/.test(text) ? 'complete' : text);

/** A client with points before it sends a statement, after it has sent it, and after the answer. */
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
      // The worker completes tasks with its next claim.
      const ends = String(init.body).includes('"ends"');
      const name = ends ? 'complete' : (url.split('/').at(-1) ?? '');
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
