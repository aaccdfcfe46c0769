import type { ClaimOptions, Failure, NewTask, Outcome, Result } from '../types.ts';
import { RefusedError } from './problem.ts';

type Rule = { test(value: unknown): boolean; expected: string };

const integer = (low: number, high: number): Rule => ({
  test: (value) => Number.isInteger(value) && Number(value) >= low && Number(value) <= high,
  expected: `a whole number from ${low} to ${high}`,
});
const number = (low: number, high: number): Rule => ({
  test: (value) => typeof value === 'number' && value >= low && value <= high,
  expected: `a number from ${low} to ${high}`,
});
const text = (max: number): Rule => ({
  test: (value) => typeof value === 'string' && value.length > 0 && value.length <= max,
  expected: `a string of 1 to ${max} characters`,
});
const matching = (pattern: RegExp, expected: string): Rule => ({
  test: (value) => typeof value === 'string' && pattern.test(value),
  expected,
});
const list = (low: number, high: number): Rule => ({
  test: (value) => Array.isArray(value) && value.length >= low && value.length <= high,
  expected: `a list of ${low} to ${high} items`,
});

const TEN_YEARS = 315_360_000;
const MAX_BYTES = 262_144;

const instant = matching(
  /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/,
  'an ISO 8601 instant with its zone, like 2030-01-31T09:00:00Z',
);
const jsonValue: Rule = {
  test(value) {
    const json = JSON.stringify(value);
    return (
      new TextEncoder().encode(json).length <= MAX_BYTES && !/(^|[^\\])(\\\\)*\\u0000/.test(json)
    );
  },
  expected: `JSON of up to ${MAX_BYTES} bytes, without NUL`,
};
const queueName = matching(
  /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$/,
  'a name of 1 to 100 letters, digits and _ . : -, starting with a letter or digit',
);
const leaseToken = matching(
  /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i,
  'a UUID, as claim gave it',
);
const taskId = matching(
  /^[1-9]\d{0,18}$/,
  'a whole number in a string, as enqueue and claim gave it',
);

const headers: Rule = {
  test: (value) =>
    typeof value === 'object' &&
    !Array.isArray(value) &&
    Object.keys(value as object).length <= 20 &&
    new TextEncoder().encode(JSON.stringify(value)).length <= 8192,
  expected: 'an object of up to 20 strings, up to 8192 bytes of JSON',
};
const headerName = /^[a-z0-9][a-z0-9-]{0,99}$/;
const headerText = matching(/^[\x20-\x7e]*$/, 'printable ASCII');

function checkHeaders(values: object, prefix: string): void {
  for (const [name, value] of Object.entries(values).sort()) {
    const field = `${prefix}headers.${name.slice(0, 100)}`;
    if (!headerName.test(name)) refuse(field, 'a name of 1 to 100 of a-z, 0-9 and -');
    if (value !== '') check(headerText, field, value);
  }
}

const taskRules: Record<string, Rule> = {
  payload: jsonValue,
  delay_seconds: number(0, TEN_YEARS),
  run_at: instant,
  priority: integer(0, 9),
  tenant: text(200),
  max_attempts: integer(1, 1000),
  unique_key: text(500),
  headers,
};
const claimRules: Record<string, Rule> = {
  worker: text(200),
  limit: integer(1, 10_000),
  lease_seconds: integer(1, 86_400),
  wait_seconds: integer(0, 30),
  request_id: text(200),
};
const failureRules: Record<string, Rule> = { retry_in_seconds: number(0, TEN_YEARS) };

function refuse(field: string, expected: string): never {
  throw new RefusedError(422, `${field}: ${expected}`, field);
}

function check(rule: Rule, field: string, value: unknown): void {
  if (!rule.test(value)) refuse(field, rule.expected);
}

function checkAll(rules: Record<string, Rule>, values: object, prefix = ''): void {
  for (const [name, value] of Object.entries(values)) {
    if (value != null && rules[name]) check(rules[name], `${prefix}${name}`, value);
  }
}

/** Refuses an option that the database supports and the in-memory Tock does not. */
function refuseUnsupported(field: string, kind = 'option'): never {
  const hint = 'Test this with a Tock server started by npm start.';
  throw new RefusedError(
    422,
    `${field}: the in-memory Tock does not support this ${kind}`,
    field,
    hint,
  );
}

function checkSupported(names: string[], values: object, prefix = ''): void {
  const [name] =
    Object.entries(values).find(([outcome, value]) => value != null && !names.includes(outcome)) ??
    [];
  if (name) refuseUnsupported(`${prefix}${name}`);
}

export const checkQueue = (name: unknown, field = 'queue') => check(queueName, field, name);
export const checkPayloads = (payloads: unknown) => check(list(0, 10_000), 'payloads', payloads);
export const checkLease = (token: unknown) => check(leaseToken, 'lease', token);
export const checkId = (id: unknown) => check(taskId, 'id', id);
export const checkSeconds = (seconds: unknown) =>
  check(claimRules.lease_seconds as Rule, 'lease_seconds', seconds);

/** Checks the tasks of a call; a single task's fields have no prefix. */
export function checkTasks(values: NewTask[], prefix: string | null, min = 0): void {
  check(list(min, 10_000), prefix ?? 'tasks', values);
  for (const [n, task] of values.entries()) {
    const fieldPrefix = prefix === null ? '' : `${prefix}[${n}].`;
    checkSupported(Object.keys(taskRules), task, fieldPrefix);
    checkAll(taskRules, task, fieldPrefix);
    checkHeaders(task.headers ?? {}, fieldPrefix);
    if (task.delay_seconds != null && task.run_at != null) {
      refuse(`${fieldPrefix}delay_seconds`, 'give delay_seconds or run_at, not both');
    }
  }
}

export function checkClaim(queues: unknown[], options: ClaimOptions): void {
  if (queues.length < 1 || queues.length > 20 || new Set(queues).size < queues.length) {
    refuse('queues', 'a list of 1 to 20 distinct queues');
  }
  for (const queue of queues) checkQueue(queue);
  checkAll(claimRules, options);
}

export function checkIds(ids: unknown): void {
  check(list(1, 10_000), 'ids', ids);
}

export function checkResults(results: Result[]): void {
  check(list(1, 10_000), 'results', results);
  const seen = new Set<string>();
  for (const [n, { id, result, spawn, ...rest }] of results.entries()) {
    const prefix = `results[${n}].`;
    if (seen.has(id)) refuse(`${prefix}id`, 'each task once');
    seen.add(id);
    // A null stage is refused too, because the in-memory Tock has no pipelines to end.
    if ('stage' in rest) refuseUnsupported(`${prefix}stage`);
    checkSupported([], rest, prefix);
    if (result !== undefined) check(jsonValue, `${prefix}result`, result);
    if (spawn == null) continue;
    checkSupported(['queue', 'tasks'], spawn, `${prefix}spawn.`);
    if (spawn.queue != null) checkQueue(spawn.queue, `${prefix}spawn.queue`);
    checkTasks(spawn.tasks, `${prefix}spawn.tasks`, 1);
  }
}

export function checkFailures(failures: Failure[] | Outcome): void {
  const isList = Array.isArray(failures);
  if (isList) check(list(1, 10_000), 'failures', failures);
  for (const [n, outcome] of (isList ? failures : [failures]).entries()) {
    checkAll(failureRules, outcome, isList ? `failures[${n}].` : '');
  }
}

export const checkPolicy = (policy: object) => checkSupported(['paused'], policy);
