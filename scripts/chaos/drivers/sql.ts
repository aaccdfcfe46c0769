import pg from 'pg';
import { pause } from '../random.ts';
import type { Driver, Heard } from './driver.ts';
import { verbs } from './verbs.ts';

export function codeOf(error: unknown): string {
  const { code, message = '' } = error as { code?: string; message?: string };
  if (code) return code;
  if (/timeout/i.test(message)) return 'timeout';
  if (/connection|terminated|not queryable|closed|bouncer|server_login/i.test(message))
    return 'connection';
  return message.slice(0, 80);
}

// The server refused the statement and goes on. 42P01: a leaf was dropped under the call.
const busy = /^(42P01|57014|40001|40P01|55P03|53...|25P0.)$/;
// The connection is gone, and with it the answer.
const lost = /^(08...|57P0.|E[A-Z]+|connection|timeout)$/;

/** Errors that a killed or a contended server may give. */
export const expectedCode = (code: string) =>
  busy.test(code) || lost.test(code) || code === 'TK503' || code === 'TK409';

/** The outcome of an error, as HTTP would name it. */
function outcomeOf(code: string): string {
  if (/^TK\d\d\d$/.test(code)) return code.slice(2);
  if (busy.test(code)) return `503 ${code}`;
  return lost.test(code) ? `lost ${code}` : `500 ${code}`;
}

/** In SQL, over one connection that is opened anew when it breaks. */
export function sqlDriver(url: string, heard: Heard): Driver {
  let on: pg.Client | null = null;

  async function connected(): Promise<pg.Client> {
    if (on) return on;
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 30_000,
      // Nothing waits for ever for a server that was killed.
      query_timeout: 20_000,
      application_name: 'chaos',
    });
    client.on('error', () => {});
    await client.connect();
    on = client;
    return client;
  }

  async function drop(): Promise<void> {
    const client = on;
    on = null;
    await Promise.race([client?.end().catch(() => {}), pause(1000)]);
  }

  return {
    transactions: true,
    async attempt(verb, args, transaction) {
      const { sql, none = 404 } = verbs[verb](args);
      const [text, ...values] = sql;
      let committing = !transaction;
      try {
        const client = await connected();
        if (transaction) {
          const { isolation } = transaction;
          await client.query(isolation ? `begin isolation level ${isolation}` : 'begin');
        }
        const { rows } = await client.query(text, values);
        if (transaction) {
          await pause(transaction.hold);
          committing = transaction.end === 'commit';
          await client.query(transaction.end);
        }
        const undone = transaction?.end === 'rollback';
        const status = rows.length > 0 ? 200 : none;
        heard(
          transaction ? `${verb} in a transaction, ${transaction.end}` : verb,
          String(status),
          '',
        );
        return { status, body: rows[0] ?? {}, undone };
      } catch (error) {
        const code = codeOf(error);
        const outcome = outcomeOf(code);
        heard(verb, outcome, `${(error as Error).message}`.slice(0, 300));
        // Also where only the rollback fails.
        if (outcome.startsWith('lost')) await drop();
        else if (transaction) await on?.query('rollback').catch(drop);
        // A transaction whose commit was not sent, or was refused, did nothing.
        const refused = /^\d/.test(outcome);
        if (!refused && committing) return null;
        return { status: refused ? Number(outcome.slice(0, 3)) : 503, body: {}, undone: true };
      }
    },
    close: drop,
  };
}
