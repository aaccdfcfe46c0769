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

/** Does a call, with points before it is sent, after it is sent, and after its answer. */
async function watched<T>(name: string, send: () => Promise<T>): Promise<T> {
  at(`${name}, before`);
  const answer = send();
  at(`${name}, sent`);
  const answered = await answer;
  at(`${name}, answered`);
  return answered;
}

function watchedClient(client: pg.PoolClient) {
  return Object.assign(Object.create(client), {
    query: (text: string, values?: unknown[]) =>
      watched(/tock\.complete/.test(text) ? 'complete' : text, () => client.query(text, values)),
    release: (error?: Error) => client.release(error),
  });
}

if (kind === 'sql') {
  const watching: SqlPool = {
    query: (text, values) => pool.query(text, values),
    connect: async () => watchedClient(await pool.connect()),
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
      return watched(name, () => fetch(url, init));
    },
  });
  const query = (text: string, values: string[]) => pool.query(text, values);
  await tock.work(queue, (task: { id: string }) => handle(task.id, query), options);
}
