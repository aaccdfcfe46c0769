import type { Mutant } from './mutants.ts';

/** Consumers and the alarm. */
export const consumers: Mutant[] = [
  {
    name: 'a drain waits for a handler that never ends',
    in: 'functions',
    find: 'const for_seconds = Math.max(0, d.left() - stop_seconds);',
    replace: 'const for_seconds = 60;',
    caught: ['consumers/drain.test.ts', 'that hangs'],
  },
  {
    name: 'an effect is kept though the lease was lost',
    in: 'functions',
    find: 'coalesce(sum(o.completed), 0) <> 1',
    replace: 'false and coalesce(sum(o.completed), 0) <> 1',
    caught: ['consumers/define.test.ts', 'undoes its statement when the lease is lost'],
  },
  {
    name: 'a wake that comes at the end of one is lost',
    in: 'functions',
    find: 'if (knocks === seen || current !== turn',
    replace: 'if (knocks >= seen || current !== turn',
    caught: ['consumers/single-flight.test.ts', 'a wakeup at the end of a turn is not lost'],
  },
  {
    name: 'an alarm that is killed at work is gone',
    in: 'functions',
    find: 'await this.#storage.setAlarm(retryIfKilled);',
    replace: '',
    caught: ['consumers/alarm-cycle.test.ts', 'after a kill during its work the alarm fires again'],
  },
];
