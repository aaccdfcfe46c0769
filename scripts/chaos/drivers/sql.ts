import pg from 'pg';
import { pause } from '../random.ts';
import type { Driver, OnOutcome } from './driver.ts';
import { verbs } from './verbs.ts';

export function errorCode(error: unknown): string {
  const { code, message = '' } = error as { code?: string; message?: string };
  if (code) return code;
  if (/timeout/i.test(message)) return 'timeout';
  if (/connection|terminated|not queryable|closed|bouncer|server_login/i.test(message))
    return 'connection';
  return message.slice(0, 80);
}

// The server refused the statement, and the connection still works. 42P01: a partition was dropped during the call.
const busy = /^(42P01|57014|40001|40P01|55P03|53...|25P0.)$/;
// The connection broke, so it is unknown whether the call had an effect.
const connectionLost = /^(08...|57P0.|E[A-Z]+|connection|timeout)$/;

/** True for errors of a server that was killed or is busy. */
export const expectedCode = (code: string) =>
  busy.test(code) || connectionLost.test(code) || code === 'TK503' || code === 'TK409';

/** The outcome of an error, named as in HTTP. */
function toOutcome(code: string): string {
  if (/^TK\d\d\d$/.test(code)) return code.slice(2);
  if (busy.test(code)) return `503 ${code}`;
  return connectionLost.test(code) ? `lost ${code}` : `500 ${code}`;
}

/** Calls Tock in SQL over one connection, and reconnects after it broke. */
export function sqlDriver(url: string, onOutcome: OnOutcome): Driver {
  let current: pg.Client | null = null;

  async function connected(): Promise<pg.Client> {
    if (current) return current;
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 30_000,
      // The timeouts keep calls from waiting forever for a killed server.
      query_timeout: 20_000,
      application_name: 'chaos',
    });
    client.on('error', () => {});
    await client.connect();
    current = client;
    return client;
  }

  async function drop(): Promise<void> {
    const client = current;
    current = null;
    await Promise.race([client?.end().catch(() => {}), pause(1000)]);
  }

  return {
    transactions: true,
    async attempt(verb, args, transaction) {
      const { sql, none: noRowStatus = 404 } = verbs[verb](args);
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
        const status = rows.length > 0 ? 200 : noRowStatus;
        onOutcome(
          transaction ? `${verb} in a transaction, ${transaction.end}` : verb,
          String(status),
          '',
        );
        return { status, body: rows[0] ?? {}, undone };
      } catch (error) {
        const code = errorCode(error);
        const outcome = toOutcome(code);
        onOutcome(verb, outcome, `${(error as Error).message}`.slice(0, 300));
        // A failed rollback closes the connection too.
        if (outcome.startsWith('lost')) await drop();
        else if (transaction) await current?.query('rollback').catch(drop);
        // A transaction whose commit was not sent or was refused had no effect.
        const refused = /^\d/.test(outcome);
        if (!refused && committing) return null;
        return { status: refused ? Number(outcome.slice(0, 3)) : 503, body: {}, undone: true };
      }
    },
    close: drop,
  };
}
