import type { Bug } from './bugs.ts';

const drains = 'consumers/drain.test.ts';
const wakes = 'consumers/wake.test.ts';
const defines = 'consumers/define.test.ts';
const creates = 'consumers/created.test.ts';
const rings = 'consumers/ring.test.ts';

/** What consumers would do wrongly: drains, wakes and the alarm. */
export const consumers: Bug[] = [
  {
    name: 'a drain waits for a handler that never ends',
    file: 'functions/consumers/drain.ts',
    find: 'const for_seconds = Math.max(0, d.left() - stop_seconds);',
    replace: 'const for_seconds = 60;',
    caught: [drains, 'that hangs'],
  },
  {
    name: 'a drain waits for a database that never answers',
    file: 'functions/consumers/drain.ts',
    find: 'await Promise.race([gone, late])',
    replace: 'await Promise.race([gone, new Promise(() => {})])',
    caught: [drains, 'a drain that can reach nobody any more'],
  },
  {
    name: 'a connection that broke is asked again and again',
    file: 'functions/consumers/line.ts',
    find: 'if (broken(error)) void drop();',
    replace: '',
    caught: [drains, 'a connection that breaks is replaced'],
  },
  {
    name: 'a drain claims as long as it has statements',
    file: 'functions/consumers/drain.ts',
    find: 'd.way.left() <= KEPT_STATEMENTS',
    replace: 'd.way.left() <= 0',
    caught: [drains, 'where a way has but so many statements'],
  },
  {
    name: 'a claim takes more than a batch',
    file: 'functions/consumers/drain.ts',
    find: 'Math.min(batch, options?.limit ?? 1)',
    replace: '(options?.limit ?? 1)',
    caught: [drains, 'a claim asks for a batch at most'],
  },
  {
    name: 'a drain waits for a limit',
    file: 'functions/consumers/drain.ts',
    find: "if (state !== 'limited' || retry_after_seconds <= WORTH_WAITING_SECONDS) return answer;",
    replace: 'if (retry_after_seconds > -1) return answer;',
    caught: [drains, 'a limit that lets nothing through'],
  },
  {
    name: "one consumer's failure ends the others' work",
    file: 'functions/consumers/drain.ts',
    find: '(await Promise.allSettled(works))',
    replace: '(await Promise.all(works), await Promise.allSettled(works))',
    caught: [drains, 'one consumer that can not claim'],
  },
  {
    name: 'what one consumer leaves to another is left there',
    file: 'functions/consumers/drain.ts',
    find: 'if (list === consumers && list.length === 1) return;',
    replace: 'return;',
    caught: [drains, 'a drain works until its queues are empty'],
  },
  {
    name: 'a payload that does not fit is tried again',
    file: 'functions/consumers/payload.ts',
    find: "throw new Fatal(said.join('; '));",
    replace: "throw new Error(said.join('; ') + Fatal.length);",
    caught: [defines, 'a handler gets what it makes of a payload'],
  },
  {
    name: 'an effect is kept though the lease was lost',
    file: 'functions/consumers/run.ts',
    find: 'coalesce(sum(o.completed), 0) <> 1',
    replace: 'false and coalesce(sum(o.completed), 0) <> 1',
    caught: [defines, 'undoes its statement when the lease is lost'],
  },
  {
    name: 'what is selected beside a completion is never read',
    file: 'functions/consumers/run.ts',
    find: "? ', (select count(*) from effect) as read' : ''",
    replace: "? ', 1 as read' : ''",
    caught: [defines, 'done and its task completed'],
  },
  {
    name: 'each wake makes a drain of its own',
    file: 'functions/consumers/wake.ts',
    find: 'if (!current || now >= current.until) {',
    replace: 'if (now > 0) {',
    caught: [wakes, 'a thousand wakes make no thousand works'],
  },
  {
    name: 'a wake that comes at the end of one is lost',
    file: 'functions/consumers/wake.ts',
    find: 'if (knocks === seen || current !== turn',
    replace: 'if (knocks >= seen || current !== turn',
    caught: [wakes, 'a wake that comes as the work ends'],
  },
  {
    name: 'nobody takes over from one who is busy',
    file: 'functions/consumers/wake.ts',
    find: 'if (current === turn) await take(end, hold);',
    replace: '',
    caught: [wakes, 'where the one at work is busy'],
  },
  {
    name: 'one that was killed blocks all who come later',
    file: 'functions/consumers/wake.ts',
    find: 'if (!current || now >= current.until) {',
    replace: 'if (!current) {',
    caught: [wakes, 'one that was killed at work'],
  },
  {
    name: 'an alarm throws when the database is out of reach',
    file: 'functions/alarm.ts',
    find: 'logError(error);',
    replace: 'throw error;',
    caught: [rings, 'when the database is out of reach'],
  },
  {
    name: 'what was told just before a ring is not rung for',
    file: 'functions/alarm.ts',
    find: "else await this.#storage.put('again', at);",
    replace: '',
    caught: [rings, 'a ring that comes too soon'],
  },
  {
    name: 'a ring puts off what was heard meanwhile',
    file: 'functions/alarm.ts',
    find: 'const held = await this.#storage.getAlarm();\n      const at = [next, after]',
    replace: 'const held = null;\n      const at = [next ?? Date.now() + 9e6, after]',
    caught: [rings, 'what is heard during a ring'],
  },
  {
    name: 'an alarm is put off by what is heard',
    file: 'functions/alarm.ts',
    find: 'if (held === null || held > at)',
    replace: 'if (at > 0)',
    caught: [rings, 'what is heard rings a second later'],
  },
  {
    name: 'nothing is done on time while consumers work',
    file: 'functions/ring.ts',
    find: 'next = await ask(way, TICK);\n    knock();',
    replace: '',
    caught: [rings, 'while consumers work'],
  },
  {
    name: 'a duty that fails keeps consumers from working',
    file: 'functions/worker.ts',
    find: 'await duty().catch((error) => failed.push(error));',
    replace: 'await duty();',
    caught: [creates, 'a duty that fails keeps no consumer'],
  },
  {
    name: 'an alarm that could not be told is told no more',
    file: 'functions/tell.ts',
    find: 'told = Number.NEGATIVE_INFINITY;\n      logError',
    replace: 'logError',
    caught: [creates, 'the alarm is told at most each half second'],
  },
  {
    name: 'a woken consumer opens a connection of its own',
    file: 'functions/consumers/woken.ts',
    find: 'loans.of(env))',
    replace: 'undefined)',
    caught: [creates, "a woken consumer's claim goes over the connection"],
  },
];
