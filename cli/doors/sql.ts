import type pg from 'pg';
import { type ExitCode, Failure } from '../failure.ts';
import {
  type Changed,
  type Door,
  ended,
  type Finding,
  type Gate,
  type Hour,
  type Limits,
  type QueueStats,
  type Task,
} from './door.ts';
import { inOptions, told } from './told.ts';

const missing = 'Bring the database to this version: tock migrate';

const again = 'See that PostgreSQL is up, then try again.';

// Connection exceptions, shutdowns, and the system's own, such as ECONNRESET.
const outOfReach = /^(08|57P0|E[A-Z]{4})/;

const exitCodes: Record<string, ExitCode> = { TK400: 2, TK404: 3, TK422: 2, TK503: 4 };

/** Tock's own errors say what to do; PostgreSQL's get it from here. */
function explain(cause: unknown): Error {
  const { code = '', message, detail, hint } = cause as pg.DatabaseError;
  if (/^TK\d{3}$/.test(code)) {
    return new Failure(told(detail, message), hint && inOptions(hint), exitCodes[code] ?? 1);
  }
  if (code === '3F000' || code === '42883' || code === '42P01') {
    return new Failure(`This database has no such part of Tock: ${message}.`, missing);
  }
  if (code === '42501') {
    const next = 'Connect as the role that migrated (DATABASE_URL).';
    return new Failure(`This role may not do that: ${message}.`, next);
  }
  if (outOfReach.test(code)) return new Failure(`PostgreSQL went away: ${message}.`, again, 4);
  if (code) return new Failure(`PostgreSQL refused: ${message} (${code}).`, hint);
  return cause as Error;
}

export async function ask<Row extends object>(
  client: pg.Client,
  sql: string,
  values: unknown[] = [],
): Promise<Row[]> {
  try {
    return (await client.query<Row>(sql, values)).rows;
  } catch (error) {
    throw explain(error);
  }
}

const columns = `id, queue, state, priority, tenant, attempt, max_attempts, lost, created_at, run_at,
  ended_at, payload, result, error, options, progress, note, runs`;

const gates = `select gate, paused, gate_limit, gate_rate_limit, gate_rate_seconds, gate_rate_burst,
  inside::text[], waiting`;

const limits = 'queue, max_running, running, rate_limit, rate_seconds, rate_burst, level';

export function sqlDoor(client: pg.Client): Door {
  return {
    async enqueue(queue, tasks, requestId) {
      const [row] = await ask<{ ids: string[] }>(
        client,
        'select tock.enqueue(p_queue => $1, p_tasks => $2, p_request_id => $3) as ids',
        [queue, `[${tasks.join()}]`, requestId],
      );
      return row?.ids ?? [];
    },
    async task(id, waitSeconds) {
      const sql = `select ${columns} from tock.task(p_id => $1)`;
      const start = Date.now();
      for (;;) {
        const task = (await ask<Task>(client, sql, [id]))[0] ?? null;
        const waited = Date.now() - start;
        const left = waitSeconds * 1000 - waited;
        if (!task || ended.includes(task.state) || left <= 0) return task;
        await new Promise((wake) => setTimeout(wake, Math.min(left, Math.max(20, waited / 10))));
      }
    },
    stats: () =>
      ask<QueueStats>(
        client,
        `select queue as name, paused, ready::float8, running::float8, waiting::float8, dead::float8,
           oldest_ready_at
         from tock.queue_stats()`,
      ),
    hours: (queue, from, to) =>
      ask<Hour>(
        client,
        `select hour, done::float8, failed::float8, lost::float8, total_seconds, mean_seconds, partial
         from tock.hourly_stats(p_queue => $1, p_from => $2, p_to => $3)`,
        [queue, from, to],
      ),
    cancel: (ids) =>
      ask<Changed>(client, 'select id, state, changed from tock.cancel(p_ids => $1)', [ids]),
    async change(id, changes) {
      const sql = 'select id, state, changed from tock.change(p_ids => $1, p_changes => $2)';
      const [row] = await ask<Changed>(client, sql, [[id], changes]);
      if (!row || !ended.includes(row.state)) return row ?? null;
      throw new Failure(`This task has ended: it is ${row.state}.`, `See: tock task ${id}`);
    },
    async erase(id) {
      const sql = 'select tock.erase(p_id => $1) as erased';
      return (await ask<{ erased: number | null }>(client, sql, [id]))[0]?.erased ?? null;
    },
    gates: (queue) => ask<Gate>(client, `${gates} from tock.gates(p_queue => $1)`, [queue]),
    async gate(queue, gate) {
      const sql = `${gates} from tock.gates(p_queue => $1, p_gate => $2)`;
      return (await ask<Gate>(client, sql, [queue, gate]))[0] ?? null;
    },
    async putGate(queue, gate, settings) {
      const sql = 'select tock.put_gate(p_queue => $1, p_gate => $2, p_settings => $3)';
      await ask(client, sql, [queue, gate, settings]);
    },
    async resetGate(queue, gate) {
      const sql = 'select tock.reset_gate(p_queue => $1, p_gate => $2) as reset';
      return (await ask<{ reset: boolean }>(client, sql, [queue, gate]))[0]?.reset ?? false;
    },
    limits: (queue) =>
      ask<Limits>(client, `select ${limits} from tock.limits(p_queue => $1)`, [queue]),
    resetLimits: (queue) =>
      ask<Limits>(client, `select ${limits} from tock.reset_limits(p_queue => $1)`, [queue]),
    doctor: () => ask<Finding>(client, 'select finding, severity, detail, hint from tock.doctor()'),
  };
}
