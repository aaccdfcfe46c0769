import type { Body } from '../client/wire.ts';
import { duration } from './format.ts';

type Setting = Exclude<keyof Body<'PUT /v1/queues/{queue}'>, 'paused'>;

/** What the settings of a queue do, in the order in which a task meets them. */
const explanations: Record<Setting, string> = {
  lease_seconds: 'How long a claim holds a task, if it names no other time',
  timeout_seconds: 'A run fails after this time, if its task has no limit of its own',
  max_wait_seconds: 'A task that has not started so long after it is due expires',
  max_attempts: 'A task is dead after so many failed attempts',
  max_lost: 'A task is dead after so many lost runs, whose workers vanished',
  backoff_kind: 'How the wait after a failure grows: fixed, linear or exponential',
  backoff_base_seconds: 'The wait after the first failure',
  backoff_factor: 'The factor from one wait to the next, if the kind is exponential',
  backoff_cap_seconds: 'The longest wait after a failure',
  backoff_jitter: 'Each wait is shorter by a random share of up to this',
  max_running: 'At most so many tasks run at once',
  rate_limit: 'At most so many tasks start in a period',
  rate_seconds: 'The length of that period',
  rate_burst:
    'How many tasks may start at once after a quiet time; not set: as many as in a period',
  concurrency_limit: 'At most so many tasks hold a concurrency key at once',
  concurrency_retry:
    'A failed task keeps its place at the concurrency key (keep), or queues again (yield)',
  concurrency_rate_limit: 'At most so many tasks are admitted at a concurrency key in a period',
  concurrency_rate_seconds: 'The length of that period',
  concurrency_rate_burst:
    'How many tasks a concurrency key admits at once after a quiet time; not set: as many as in a period',
  push: 'The endpoint that Tock sends the tasks to; not set: workers claim them',
  dead_webhook: 'The endpoint that hears of dead tasks',
  retention_seconds: 'How long a task can be read after its end',
  keep_results: 'Whether the database stores results',
  max_payload_bytes: 'The largest payload, as JSON',
  lanes: 'The number of shares of the queue, which claims take in random order',
  pause_after_restore: 'Whether the queue is paused after a restore of the database',
};

type Policy = Body<'PUT /v1/queues/{queue}'>;
type Optional = { [name in Setting]: null extends Policy[name] ? name : never }[Setting];

/** The settings that a queue may be without. */
const optional: Record<Optional, true> = {
  timeout_seconds: true,
  max_wait_seconds: true,
  max_running: true,
  rate_limit: true,
  rate_burst: true,
  concurrency_rate_limit: true,
  concurrency_rate_burst: true,
  push: true,
  dead_webhook: true,
};
export const isOptional = (name: string) => name in optional;

/** The settings of a policy, with what they do. */
export const settingsOf = (policy: Record<Setting, unknown>) =>
  Object.entries(explanations).map(([name, explanation]) => ({
    name,
    explanation,
    value: policy[name as Setting],
  }));

/** The unit of a setting, by the end of its name. */
const unitOf = (name: string) =>
  name.endsWith('_seconds') ? 's' : name.endsWith('_bytes') ? 'bytes' : null;

const whole = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 6 });

/** A number with its unit, a long time also in larger units: 7 d (604,800 s). */
export function withUnit(name: string, value: number): string {
  const unit = unitOf(name);
  const text = unit ? `${whole.format(value)}\u00a0${unit}` : whole.format(value);
  return unit === 's' && value >= 60 ? `${duration(value)} (${text})` : text;
}
