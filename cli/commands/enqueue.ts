import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { checkedJson, number, payloadArgument } from '../arguments.ts';
import { type Options, optionsOf, print } from '../output.ts';

type Flags = {
  priority?: number;
  delay?: number;
  runAt?: string;
  tenant?: string;
  maxAttempts?: number;
  concurrencyKey?: string;
  uniqueKey?: string;
  uniquePolicy?: string;
  uniqueSeconds?: number;
  onConflict?: string;
  debounceMax?: number;
  changedAt?: string;
  expiresIn?: number;
  expiresAt?: string;
  timeout?: number;
  backoff?: unknown;
  dependsOn?: string[];
  onParentFailure?: string;
  includeResults?: boolean;
  parent?: string;
  tasks?: boolean;
  pipeline?: string[];
  header?: Record<string, string>;
  pushUrl?: string;
  requestId?: string;
  many?: boolean;
};

function header(text: string, headers: Record<string, string> = {}): Record<string, string> {
  const [name = '', ...value] = text.split('=');
  return { ...headers, [name]: value.join('=') };
}

/** A call may have 10,000 tasks and 5 MiB; batches are much smaller. */
const batchTasks = 1000;
const batchBytes = 2_000_000;

/** The payloads of stdin, as JSON text. */
async function* batches(): AsyncGenerator<string[]> {
  let batch: string[] = [];
  let bytes = 0;
  let lineNumber = 0;
  for await (const json of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    lineNumber++;
    if (json.trim() === '') continue;
    batch.push(checkedJson(json, `Line ${lineNumber}`));
    bytes += json.length;
    if (batch.length < batchTasks && bytes < batchBytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

/** The fields of an enqueue's body for these payloads, which are JSON text and keep their exact form. */
export function taskFields(payloads: string[], flags: Flags = {}): string {
  const options = {
    priority: flags.priority,
    delay_seconds: flags.delay,
    run_at: flags.runAt,
    tenant: flags.tenant,
    max_attempts: flags.maxAttempts,
    concurrency_key: flags.concurrencyKey,
    unique_key: flags.uniqueKey,
    unique_policy: flags.uniquePolicy,
    unique_seconds: flags.uniqueSeconds,
    on_conflict: flags.onConflict,
    debounce_max_seconds: flags.debounceMax,
    changed_at: flags.changedAt,
    expires_in_seconds: flags.expiresIn,
    expires_at: flags.expiresAt,
    timeout_seconds: flags.timeout,
    backoff: flags.backoff,
    depends_on: flags.dependsOn,
    on_parent_failure: flags.onParentFailure,
    include_results: flags.includeResults,
    parent: flags.parent,
    pipeline: flags.pipeline,
    headers: flags.header,
    push_url: flags.pushUrl,
  };
  const fields = JSON.stringify(options).slice(1, -1);
  if (fields === '') return `"payloads":[${payloads.join()}]`;
  return `"tasks":[${payloads.map((payload) => `{"payload":${payload},${fields}}`).join()}]`;
}

export async function enqueued(api: Api, queue: string, fields: string, requestId: string) {
  const body = `{"request_id":${JSON.stringify(requestId)},${fields}}`;
  return (await api.call('POST /v1/queues/{queue}/tasks', { path: { queue }, body })).ids;
}

async function enqueueMany(queue: string, options: Options<Flags>): Promise<void> {
  const { requestId = randomUUID(), json } = options;
  const all: string[] = [];
  let count = 0;
  try {
    await withApi(options, async (api) => {
      let number = 0;
      for await (const batch of batches()) {
        const fields = taskFields(batch, options);
        const ids = await enqueued(api, queue, fields, `${requestId}:${++number}`);
        count += ids.length;
        if (json) all.push(...ids);
        else process.stdout.write(`${ids.join('\n')}\n`);
      }
    });
  } catch (error) {
    if (count === 0 || !(error instanceof Failure)) throw error;
    throw new Failure(
      `${error.message}\n${count === 1 ? 'The first task is' : `The first ${count} tasks are`} already enqueued.`,
      `Repeat the whole input with --request-id ${requestId}: no task is enqueued twice.`,
      error.exitCode,
    );
  }
  if (json) print(options, { ids: all }, String);
}

/** Enqueues all tasks in one call, so that they may depend on each other. */
async function enqueueTogether(queue: string, options: Options<Flags>): Promise<void> {
  const tasks: string[] = [];
  for await (const json of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (json.trim() !== '') tasks.push(checkedJson(json, `Line ${tasks.length + 1}`));
  }
  const ids = await withApi(options, (api) =>
    enqueued(api, queue, `"tasks":[${tasks.join()}]`, options.requestId ?? randomUUID()),
  );
  print(options, { ids }, () => `${ids.join('\n')}\n`);
}

async function enqueue(queue: string, text: string | undefined, options: Options<Flags>) {
  if (options.many) {
    if (text === undefined || text === '-') return enqueueMany(queue, options);
    throw new Failure('--many reads tasks from stdin: leave the JSON out.', undefined, 2);
  }
  if (options.tasks) {
    if (text === undefined || text === '-') return enqueueTogether(queue, options);
    throw new Failure('--tasks reads tasks from stdin: leave the JSON out.', undefined, 2);
  }
  const payload = await payloadArgument(text ?? 'null');
  const { requestId = randomUUID() } = options;
  const ids = await withApi(options, (api) =>
    enqueued(api, queue, taskFields([payload], options), requestId),
  );
  print(options, { ids }, () => `${ids.join('\n')}\n`);
}

export function addEnqueue(program: Command): void {
  program
    .command('enqueue <queue> [json]')
    .description('add a task and print its id; "-" reads the payload from stdin')
    .option('--priority <0-9>', '0 is the highest priority; default 5', number)
    .option('--delay <seconds>', 'run after this many seconds or later', number)
    .option('--run-at <instant>', 'run at this time or later, like 2030-01-31T09:00:00Z')
    .option('--tenant <tenant>', 'tenant of the task, for fair scheduling between tenants')
    .option('--max-attempts <count>', 'maximum number of attempts', number)
    .option(
      '--concurrency-key <key>',
      'limits how many tasks with this key run at once (default 1)',
    )
    .option('--unique-key <key>', 'no other task with this key is added')
    .option('--unique-policy <how>', 'scope of the unique key: pending, unfinished or period')
    .option(
      '--unique-seconds <seconds>',
      'length of the period, or the minimum time between throttled tasks',
      number,
    )
    .option(
      '--on-conflict <what>',
      'what to do with the newer task: keep, replace, merge, debounce, throttle or rerun',
    )
    .option('--debounce-max <seconds>', 'maximum total delay of a debounced task', number)
    .option('--changed-at <instant>', "time of the payload's data; older data changes nothing")
    .option('--expires-in <seconds>', 'do not start after this many seconds', number)
    .option('--expires-at <instant>', 'do not start after this time')
    .option('--timeout <seconds>', 'maximum duration of a run', number)
    .option('--backoff <json>', 'with kind, base_seconds, factor, cap_seconds, jitter', (json) =>
      JSON.parse(checkedJson(json, '--backoff')),
    )
    .option('--depends-on <ids>', 'run after these tasks are done, like 12,34', (ids) =>
      ids.split(','),
    )
    .option('--on-parent-failure <what>', 'if a parent dies: cancel, run or wait')
    .option('--include-results', "add the parents' results to the payload")
    .option('--parent <id>', 'parent task, which is shown with it')
    .option('--pipeline <stages>', 'queues of its pipeline, like fetch,parse,index', (stages) =>
      stages.split(','),
    )
    .option(
      '--header <name=value>',
      'stored with the task, such as traceparent=…; may be repeated',
      header,
    )
    .option('--push-url <url>', 'where a queue with push sends it')
    .option(
      '--request-id <id>',
      'with the same id a repeated call returns the same tasks (for 24 hours)',
    )
    .option('--many', 'read one payload per line from stdin (NDJSON)')
    .option('--tasks', 'read one task with its options per line from stdin, all in one call')
    .action((queue: string, json: string | undefined, _options, command: Command) =>
      enqueue(queue, json, optionsOf(command)),
    );
}
