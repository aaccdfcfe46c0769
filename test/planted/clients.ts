import type { Bug } from './bugs.ts';

const calls = 'client/calls.test.ts';
const leases = 'client/leases.test.ts';
const stops = 'client/stop.test.ts';
const works = 'client/work.test.ts';
const sql = 'client/sql.test.ts';

/** What the client would do wrongly: calls, leases, workers and transactions. */
export const clients: Bug[] = [
  {
    name: 'an enqueue has no request id',
    file: 'client/tock.ts',
    find: 'const body = { request_id, ...options, payload };',
    replace: 'const body = { ...options, payload };',
    caught: [calls, 'what is enqueued is there once, whatever became of the answers'],
  },
  {
    name: 'a claim has no request id',
    file: 'client/claims.ts',
    find: 'request_id: options.request_id ?? crypto.randomUUID()',
    replace: 'request_id: options.request_id',
    caught: [calls, 'a claim whose answer was lost gives the same tasks'],
  },
  {
    name: 'a server that is busy is asked again at once, whatever it says',
    file: 'client/call.ts',
    find: 'Math.max(tried.again_ms, backoff(tries))',
    replace: 'backoff(tries)',
    caught: [calls, 'a call waits for as long as it is told'],
  },
  {
    name: 'a try has a fraction of a millisecond, which Node refuses',
    file: 'client/call.ts',
    find: 'Math.max(1, Math.ceil(ms))',
    replace: 'Math.max(1, ms)',
    caught: [calls, 'a call whose deadline comes before its timeout is made'],
  },
  {
    name: 'what is refused for good is tried again',
    file: 'client/call.ts',
    find: 'status === 429 || status === 500',
    replace: 'status === 429 || status === 422 || status === 500',
    caught: [calls, 'what is refused with'],
  },
  {
    name: 'tries go on beyond the deadline',
    file: 'client/call.ts',
    find: '|| performance.now() + ms >= end',
    replace: '',
    caught: [calls, 'a call ends at its deadline'],
  },
  {
    name: 'no heartbeat is sent',
    file: 'client/worker/heartbeat.ts',
    find: 'setTimeout(beat, late ? 0 : every)',
    replace: 'setTimeout(beat, 1e9)',
    caught: [leases, 'a heartbeat keeps a lease past its length'],
  },
  {
    name: 'a lost lease is kept from its handlers',
    file: 'client/worker/heartbeat.ts',
    find: 'return hears.lost(error);',
    replace: 'return;',
    caught: [leases, 'a handler whose lease is lost hears of it'],
  },
  {
    name: 'tasks are begun though the lease is over',
    file: 'client/worker/held.ts',
    find: "      if (one.begun) continue;\n      one.ended = true;\n      count('lost', 1);\n",
    replace: '',
    caught: [leases, 'a worker that reaches nobody drops its tasks'],
  },
  {
    name: 'a task that is to be cancelled is begun',
    file: 'client/worker/hands.ts',
    find: 'signal.aborted ? endOf(undefined, signal) : go()',
    replace: 'go()',
    caught: [leases, 'a handler whose task is to be cancelled hears of it'],
  },
  {
    name: 'a worker that stops keeps what it has not begun',
    file: 'client/worker/hands.ts',
    find: '    for (const held of leases) held.giveBack();\n    const ended',
    replace: '    const ended',
    caught: [stops, 'a worker that is told to stop gives back at once'],
  },
  {
    name: 'a worker that stops sends no more heartbeats',
    file: 'client/worker/held.ts',
    find: "        note(one, { kind: 'released' });",
    replace: "        note(one, { kind: 'released' });\n        beats.stop();",
    caught: [stops, 'a worker that is told to stop keeps alive what runs'],
  },
  {
    name: 'a worker that stops waits for those who never end',
    file: 'client/worker/hands.ts',
    find: 'for (const held of leases) held.giveBack(new WorkerStopped());',
    replace: '',
    caught: [stops, 'a handler that does not end in time'],
  },
  {
    name: 'what a claim brings to a worker that stops is kept',
    file: 'client/worker/hands.ts',
    find: 'if (stopping.aborted) held.giveBack();\n    else',
    replace: '',
    caught: [stops, 'what a claim brings that was under way'],
  },
  {
    name: 'a worker claims as many as ever, whatever it has',
    file: 'client/worker/work.ts',
    find: 'f.high - f.inHands.count()',
    replace: 'f.high',
    caught: [works, 'a worker never has more than the high mark'],
  },
  {
    name: 'one refused result keeps the others from being told',
    file: 'client/worker/tell.ts',
    find: 'if (one && isRefusal(error) && ends.length > 1) {',
    replace: 'if (false) {',
    caught: [works, 'a result that is refused fails its own task'],
  },
  {
    name: 'tasks are completed one by one',
    file: 'client/worker/held.ts',
    find: '!options.patient()',
    replace: 'true',
    caught: [works, 'a lease whose tasks are all done without results'],
  },
  {
    name: 'a worker dies when a call does not come through',
    file: 'client/worker/work.ts',
    find: 'if (f.toTheEnd || !passing) throw error;',
    replace: 'throw error;',
    caught: [works, 'a worker goes on when a call did not come through'],
  },
  {
    name: 'an effect is committed without its completion',
    file: 'client/sql.ts',
    find: 'const result = await handler(held.task, { ...context, client } as never);',
    replace:
      "const result = await handler(held.task, { ...context, client } as never); await client.query('commit'); await client.query(statements.beginOf(held.task.run_id));",
    caught: ['client/kills.test.ts', 'in SQL an effect is there exactly once'],
  },
  {
    name: 'an effect is committed where the lease was lost',
    file: 'client/sql.ts',
    find: "        await settle('rollback');",
    replace: "        await settle('commit');",
    caught: [sql, 'a lease that was lost takes the effect with it'],
  },
  {
    name: 'a handler ends its transaction and nobody sees it',
    file: 'client/sql/statements.ts',
    find: "pg_catalog.current_setting('tock_client.run', true) is not distinct from $3",
    replace: '$3::text is not null',
    caught: [sql, 'a handler that ends its own transaction has failed'],
  },
  {
    name: 'a worker in SQL dies with a connection',
    file: 'client/sql/ask.ts',
    find: 'E[A-Z]{4}|$)/',
    replace: 'E[A-Z]{4})/',
    caught: [sql, 'a worker outlasts connections that break'],
  },
  {
    name: 'in memory a lease never runs out',
    file: 'client/memory/store.ts',
    find: 'if (lease.until <= now()) reap(lease);',
    replace: 'if (lease.until < 0) reap(lease);',
    caught: ['client/memory.test.ts', 'a lease that ran out can do nothing'],
  },
];
