import type pg from 'pg';
import { Failure } from '../failure.ts';
import { sqlArchive } from './archive.ts';
import { ask } from './ask.ts';
import {
  type Changed,
  type Dead,
  type Door,
  type Dropped,
  ended,
  type Finding,
  type Gate,
  type Hour,
  type Limits,
  type Parent,
  type Part,
  type Purged,
  type QueueStats,
  type Redriven,
  type Rerun,
  type Task,
} from './door.ts';
import { sqlKeys } from './keys.ts';
import { sqlLeases } from './leases.ts';
import { sqlLooks } from './looks.ts';
import { sqlPools } from './pools.ts';
import { sqlPush } from './push.ts';
import { sqlSchedules } from './schedules.ts';

const columns = `id, queue, state, priority, tenant, attempt, max_attempts, lost, created_at, run_at,
  ended_at, payload, result, error, options, progress, note, runs, rerun_of, reruns`;

const gates = `select gate, paused, gate_limit, gate_rate_limit, gate_rate_seconds, gate_rate_burst,
  inside::text[], waiting`;

const limits = 'queue, max_running, running, rate_limit, rate_seconds, rate_burst, level';

export function sqlDoor(client: pg.Client): Door {
  return {
    ...sqlArchive(client),
    ...sqlLeases(client),
    ...sqlLooks(client),
    ...sqlPools(client),
    ...sqlKeys(client),
    ...sqlPush(client),
    ...sqlSchedules(client),
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
    async parents(id, after, limit) {
      const known = 'select tock.queue_of_task(p_id => $1) is not null as known';
      const [task] = await ask<{ known: boolean }>(client, known, [id]);
      if (!task?.known) return null;
      const sql =
        'select n, id::text, name, state, result from tock.parents(p_id => $1, p_limit => $2, p_after => $3)';
      return ask<Parent>(client, sql, [id, limit, after]);
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
    async dead(queue, limit) {
      const sql = `select error, tasks, newest_at, newest_id, counted_all
        from tock.dead_groups(p_queue => $1, p_limit => $2)`;
      const rows = await ask<Dead['groups'][number] & Dead>(client, sql, [queue, limit]);
      return {
        groups: rows
          .filter((row) => row.tasks > 0)
          .map(({ counted_all, ...group }) => group as Dead['groups'][number]),
        counted_all: rows.every((row) => row.counted_all),
      };
    },
    rerun: (ids, requestId, reason) =>
      ask<Rerun>(
        client,
        `select id, state, rerun_id, refused
         from tock.rerun(p_ids => $1, p_request_id => $2, p_reason => $3)`,
        [ids, requestId, reason],
      ),
    async redrive(queue, { error, tenant, to_queue, again, reason, request_id, cursor }) {
      const sql = `select redriven, ids, cursor from tock.redrive(p_queue => $1, p_filter => $2, p_cursor => $3,
        p_request_id => $4, p_to_queue => $5, p_again => $6, p_reason => $7)`;
      const filter = { error, tenant };
      const values = [queue, filter, cursor, request_id, to_queue, again ?? false, reason];
      return (await ask<Redriven>(client, sql, values))[0] as Redriven;
    },
    move: (ids, queue) =>
      ask<Changed>(client, 'select id, state, changed from tock.move(p_ids => $1, p_queue => $2)', [
        ids,
        queue,
      ]),
    async changeWhere(queue, { state, tenant, priority, cursor }) {
      const given = 'p_queue => $1, p_filter => $2, p_cursor => $3';
      const verb =
        priority === undefined
          ? `cancel_where(${given})`
          : `reprioritize_where(${given}, p_priority => $4)`;
      const values = [
        queue,
        { state, tenant },
        cursor,
        ...(priority === undefined ? [] : [priority]),
      ];
      const sql = `select matched, changed, cursor from tock.${verb}`;
      return (await ask<Part>(client, sql, values))[0] as Part;
    },
    async purge(queue, state) {
      const sql = `select ready::float8, waiting, busy, more
        from tock.purge_queue(p_queue => $1, p_state => $2)`;
      return (await ask<Purged>(client, sql, [queue, state]))[0] as Purged;
    },
    async drop(queue, force) {
      const sql = `select dropped, ready::float8, running::float8, waiting::float8
        from tock.drop_queue(p_queue => $1, p_force => $2)`;
      return (await ask<Dropped>(client, sql, [queue, force]))[0] ?? null;
    },
    doctor: () => ask<Finding>(client, 'select finding, severity, detail, hint from tock.doctor()'),
  };
}
