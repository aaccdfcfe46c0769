import type { ClaimOptions, Failure, NewTask, Outcome, Result } from '../types.ts';
import { Refused } from './problem.ts';

type Rule = { holds(value: unknown): boolean; what: string };

const whole = (low: number, high: number): Rule => ({
  holds: (value) => Number.isInteger(value) && Number(value) >= low && Number(value) <= high,
  what: `a whole number from ${low} to ${high}`,
});
const number = (low: number, high: number): Rule => ({
  holds: (value) => typeof value === 'number' && value >= low && value <= high,
  what: `a number from ${low} to ${high}`,
});
const text = (most: number): Rule => ({
  holds: (value) => typeof value === 'string' && value.length > 0 && value.length <= most,
  what: `a string of 1 to ${most} characters`,
});
const shaped = (pattern: RegExp, what: string): Rule => ({
  holds: (value) => typeof value === 'string' && pattern.test(value),
  what,
});
const list = (low: number, high: number): Rule => ({
  holds: (value) => Array.isArray(value) && value.length >= low && value.length <= high,
  what: `a list of ${low} to ${high} items`,
});

const TEN_YEARS = 315_360_000;
const MOST_BYTES = 262_144;

const instant = shaped(
  /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/,
  'an ISO 8601 instant with its zone, like 2030-01-31T09:00:00Z',
);
const small: Rule = {
  holds(value) {
    const json = JSON.stringify(value);
    return (
      new TextEncoder().encode(json).length <= MOST_BYTES && !/(^|[^\\])(\\\\)*\\u0000/.test(json)
    );
  },
  what: `JSON of up to ${MOST_BYTES} bytes, without NUL`,
};
const queueName = shaped(
  /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$/,
  'a name of 1 to 100 letters, digits and _ . : -, starting with a letter or digit',
);
const leaseToken = shaped(
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  'a UUID, as claim gave it',
);
const taskId = shaped(
  /^[1-9]\d{0,18}$/,
  'a whole number in a string, as enqueue and claim gave it',
);

const headers: Rule = {
  holds: (value) =>
    typeof value === 'object' &&
    !Array.isArray(value) &&
    Object.keys(value as object).length <= 20 &&
    new TextEncoder().encode(JSON.stringify(value)).length <= 8192,
  what: 'an object of up to 20 strings, up to 8192 bytes of JSON',
};
const headerName = /^[a-z0-9][a-z0-9-]{0,99}$/;
const headerText = shaped(/^[\x20-\x7e]*$/, 'printable ASCII');

function checkHeaders(given: object, at: string): void {
  for (const [name, value] of Object.entries(given).sort()) {
    const field = `${at}headers.${name.slice(0, 100)}`;
    if (!headerName.test(name)) refuse(field, 'a name of 1 to 100 of a-z, 0-9 and -');
    if (value !== '') hold(headerText, field, value);
  }
}

const ofTask: Record<string, Rule> = {
  payload: small,
  delay_seconds: number(0, TEN_YEARS),
  run_at: instant,
  priority: whole(0, 9),
  tenant: text(200),
  max_attempts: whole(1, 1000),
  unique_key: text(500),
  headers,
};
const ofClaim: Record<string, Rule> = {
  worker: text(200),
  limit: whole(1, 10_000),
  lease_seconds: whole(1, 86_400),
  wait_seconds: whole(0, 30),
  request_id: text(200),
};
const ofFailure: Record<string, Rule> = { retry_in_seconds: number(0, TEN_YEARS) };

function refuse(field: string, what: string): never {
  throw new Refused(422, `${field}: ${what}`, field);
}

function hold(rule: Rule, field: string, value: unknown): void {
  if (!rule.holds(value)) refuse(field, rule.what);
}

function holdAll(rules: Record<string, Rule>, given: object, at = ''): void {
  for (const [name, value] of Object.entries(given)) {
    if (value != null && rules[name]) hold(rules[name], `${at}${name}`, value);
  }
}

/** What would be ignored here, and is not by the database. */
function unknown(field: string, what = 'option'): never {
  const hint = 'Test what depends on it with a Tock of npm start.';
  throw new Refused(422, `${field}: the in-memory Tock does not know this ${what}`, field, hint);
}

function known(names: string[], given: object, at = ''): void {
  const [name] =
    Object.entries(given).find(([one, value]) => value != null && !names.includes(one)) ?? [];
  if (name) unknown(`${at}${name}`);
}

export const checkQueue = (name: unknown, field = 'queue') => hold(queueName, field, name);
export const checkLease = (token: unknown) => hold(leaseToken, 'lease', token);
export const checkId = (id: unknown) => hold(taskId, 'id', id);
export const checkSeconds = (seconds: unknown) =>
  hold(ofClaim.lease_seconds as Rule, 'lease_seconds', seconds);

/** Tasks of a call; of one alone the fields are its own. */
export function checkTasks(given: NewTask[], at: string | null, least = 0): void {
  hold(list(least, 10_000), at ?? 'tasks', given);
  for (const [n, task] of given.entries()) {
    const place = at === null ? '' : `${at}[${n}].`;
    known(Object.keys(ofTask), task, place);
    holdAll(ofTask, task, place);
    checkHeaders(task.headers ?? {}, place);
    if (task.delay_seconds != null && task.run_at != null) {
      refuse(`${place}delay_seconds`, 'give delay_seconds or run_at, not both');
    }
  }
}

export function checkClaim(queues: unknown[], options: ClaimOptions): void {
  if (queues.length < 1 || queues.length > 20 || new Set(queues).size < queues.length) {
    refuse('queues', 'a list of 1 to 20 queues, each once');
  }
  for (const queue of queues) checkQueue(queue);
  holdAll(ofClaim, options);
}

export function checkIds(ids: unknown): void {
  hold(list(1, 10_000), 'ids', ids);
}

export function checkResults(results: Result[]): void {
  hold(list(1, 10_000), 'results', results);
  const seen = new Set<string>();
  for (const [n, { id, result, spawn, ...rest }] of results.entries()) {
    const at = `results[${n}].`;
    if (seen.has(id)) refuse(`${at}id`, 'each task once');
    seen.add(id);
    // Also a stage that is null: without a pipeline there is none to end.
    if ('stage' in rest) unknown(`${at}stage`);
    known([], rest, at);
    if (result !== undefined) hold(small, `${at}result`, result);
    if (spawn == null) continue;
    known(['queue', 'tasks'], spawn, `${at}spawn.`);
    if (spawn.queue != null) checkQueue(spawn.queue, `${at}spawn.queue`);
    checkTasks(spawn.tasks, `${at}spawn.tasks`, 1);
  }
}

export function checkFailures(failures: Failure[] | Outcome): void {
  const listed = Array.isArray(failures);
  if (listed) hold(list(1, 10_000), 'failures', failures);
  for (const [n, one] of (listed ? failures : [failures]).entries()) {
    holdAll(ofFailure, one, listed ? `failures[${n}].` : '');
  }
}

export const checkPolicy = (policy: object) => known(['paused'], policy);
