// A worker process that a test kills. It does the commands on its standard input: `work`, and `signal <id> <link>`. Usage:
// node steps_worker.ts http|sql, with URLs and the key in the environment
import { createInterface } from 'node:readline';
import pg from 'pg';
import { createTock } from '../../client/index.ts';
import { type SqlContext, workSql } from '../../client/sql.ts';
import { API, eventOf, flow, LAST_EFFECT, QUEUE, STEP_EFFECT, tokenOf } from './steps_flow.ts';

const { TOCK_URL = '', TOCK_KEY = '', DATABASE_URL, LISTENER } = process.env;

// A lease of ten minutes has no heartbeat meanwhile, so each run of a flow makes the same calls.
const options = { until: 'empty', lease_seconds: 600, report_within_ms: 0 } as const;

export type FlowWorker = {
  work(): Promise<unknown>;
  /** Signals both events of a flow, the second by its link. */
  signal(id: string, link: string): Promise<unknown>;
};

export function sqlWorker(url: string | undefined, listener: unknown): FlowWorker {
  const pool = new pg.Pool({ connectionString: url, max: 2, allowExitOnIdle: true });
  pool.on('error', () => {});
  const handler = flow(listener);
  return {
    work: () =>
      workSql(
        pool,
        QUEUE,
        async (task: { id: string }, context: SqlContext) => {
          const { step, client } = context;
          const invoice = () =>
            step.sql('invoice', async (own) => (await own.query(STEP_EFFECT, [task.id])).rows);
          const result = await handler(task, { ...context, invoice });
          await client.query(LAST_EFFECT, [task.id]);
          return result;
        },
        { ...options, api_url: API },
      ),
    async signal(id, link) {
      await pool.query('select tock.signal(p_event => $1, p_payload => $2, p_request_id => $1)', [
        eventOf(id),
        { by: 'sql' },
      ]);
      await pool.query('select tock.signal_by_link(p_token => $1, p_payload => $2)', [
        tokenOf(link),
        { by: 'link' },
      ]);
    },
  };
}

/** Signals the event of a link. It may be used already, if the answer of an earlier call was lost. */
export function useLink(url: string, link: string): Promise<Response> {
  const init = { method: 'POST', body: JSON.stringify({ by: 'link' }) };
  const headers = { 'content-type': 'application/json' };
  return fetch(new URL(`/v1/events/${tokenOf(link)}`, url), { ...init, headers });
}

export function httpWorker(url: string, key: string, listener: unknown): FlowWorker {
  const tock = createTock({ url, key });
  return {
    work: () => tock.work(QUEUE, flow(listener), options),
    async signal(id, link) {
      await tock.signal(eventOf(id), { by: 'http' }, { request_id: eventOf(id) });
      await useLink(url, link);
    },
  };
}

if (import.meta.main) {
  const worker =
    process.argv[2] === 'sql'
      ? sqlWorker(DATABASE_URL, LISTENER)
      : httpWorker(TOCK_URL, TOCK_KEY, LISTENER);
  for await (const line of createInterface({ input: process.stdin })) {
    const [command, id = '', link = ''] = line.split(' ');
    await (command === 'work' ? worker.work() : worker.signal(id, link));
    process.stdout.write('["idle"]\n');
  }
}
