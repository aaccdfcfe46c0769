import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { checkedJson, givenPayload, number } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';

type Given = {
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

function header(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [name = '', ...value] = text.split('=');
  return { ...before, [name]: value.join('=') };
}

/** A call takes up to 10,000 tasks and 5 MB; a batch of these stays well below. */
const batchTasks = 1000;
const batchBytes = 2_000_000;

async function* batches(options: Given): AsyncGenerator<string[]> {
  let batch: string[] = [];
  let bytes = 0;
  let line = 0;
  for await (const json of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    line++;
    if (json.trim() === '') continue;
    batch.push(newTask(checkedJson(json, `Line ${line}`), options));
    bytes += json.length;
    if (batch.length < batchTasks && bytes < batchBytes) continue;
    yield batch;
    batch = [];
    bytes = 0;
  }
  if (batch.length > 0) yield batch;
}

/** A task's JSON. */
function newTask(payload: string, given: Given): string {
  const options = {
    priority: given.priority,
    delay_seconds: given.delay,
    run_at: given.runAt,
    tenant: given.tenant,
    max_attempts: given.maxAttempts,
    concurrency_key: given.concurrencyKey,
    unique_key: given.uniqueKey,
    unique_policy: given.uniquePolicy,
    unique_seconds: given.uniqueSeconds,
    on_conflict: given.onConflict,
    debounce_max_seconds: given.debounceMax,
    changed_at: given.changedAt,
    expires_in_seconds: given.expiresIn,
    expires_at: given.expiresAt,
    timeout_seconds: given.timeout,
    backoff: given.backoff,
    depends_on: given.dependsOn,
    on_parent_failure: given.onParentFailure,
    include_results: given.includeResults,
    parent: given.parent,
    pipeline: given.pipeline,
    headers: given.header,
    push_url: given.pushUrl,
  };
  const fields = JSON.stringify(options).slice(1, -1);
  return `{"payload":${payload}${fields && `,${fields}`}}`;
}

/** Each task as its JSON text, which goes on as it was typed. */
export async function enqueued(api: Api, queue: string, tasks: string[], requestId: string) {
  const body = `{"request_id":${JSON.stringify(requestId)},"tasks":[${tasks.join()}]}`;
  return (await api.call('POST /v1/queues/{queue}/tasks', { path: { queue }, body })).ids;
}

async function many(queue: string, options: Options<Given>): Promise<void> {
  const { requestId = randomUUID(), json } = options;
  const all: string[] = [];
  let count = 0;
  try {
    await withApi(options, async (api) => {
      let number = 0;
      for await (const batch of batches(options)) {
        const ids = await enqueued(api, queue, batch, `${requestId}:${++number}`);
        count += ids.length;
        if (json) all.push(...ids);
        else process.stdout.write(`${ids.join('\n')}\n`);
      }
    });
  } catch (error) {
    if (count === 0 || !(error instanceof Failure)) throw error;
    throw new Failure(
      `${error.message}\n${count === 1 ? 'The first task is' : `The first ${count} tasks are`} enqueued already.`,
      `Repeat the whole input with --request-id ${requestId}: none of them is enqueued twice.`,
      error.exitCode,
    );
  }
  if (json) print(options, { ids: all }, String);
}

/** Tasks of one call: they may name each other. */
async function together(queue: string, options: Options<Given>): Promise<void> {
  const tasks: string[] = [];
  for await (const json of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    if (json.trim() !== '') tasks.push(checkedJson(json, `Line ${tasks.length + 1}`));
  }
  const ids = await withApi(options, (api) =>
    enqueued(api, queue, tasks, options.requestId ?? randomUUID()),
  );
  print(options, { ids }, () => `${ids.join('\n')}\n`);
}

async function enqueue(queue: string, given: string | undefined, options: Options<Given>) {
  if (options.many) {
    if (given === undefined || given === '-') return many(queue, options);
    throw new Failure('--many reads tasks from stdin: leave the JSON out.', undefined, 2);
  }
  if (options.tasks) {
    if (given === undefined || given === '-') return together(queue, options);
    throw new Failure('--tasks reads tasks from stdin: leave the JSON out.', undefined, 2);
  }
  const payload = await givenPayload(given ?? 'null');
  const { requestId = randomUUID() } = options;
  const ids = await withApi(options, (api) =>
    enqueued(api, queue, [newTask(payload, options)], requestId),
  );
  print(options, { ids }, () => `${ids.join('\n')}\n`);
}

export function addEnqueue(program: Command): void {
  program
    .command('enqueue <queue> [json]')
    .description('add a task and print its id; "-" reads the payload from stdin')
    .option('--priority <0-9>', '0 comes first, 5 is the default', number)
    .option('--delay <seconds>', 'not before that many seconds', number)
    .option('--run-at <instant>', 'not before, like 2030-01-31T09:00:00Z')
    .option('--tenant <tenant>', 'whose task it is: tenants get their turns')
    .option('--max-attempts <count>', 'give up after that many attempts', number)
    .option(
      '--concurrency-key <key>',
      'of tasks with the same key one runs at a time, or as many as the concurrency key lets in',
    )
    .option('--unique-key <key>', 'while a task has this key, no other is added')
    .option('--unique-policy <how>', 'how long it counts: pending, unfinished or period')
    .option('--unique-seconds <seconds>', 'of the period, or between throttled ones', number)
    .option(
      '--on-conflict <what>',
      'what becomes of the newer: keep, replace, merge, debounce, throttle or rerun',
    )
    .option('--debounce-max <seconds>', 'put off no longer than that in all', number)
    .option('--changed-at <instant>', 'when the payload was true: what is older changes nothing')
    .option('--expires-in <seconds>', 'never start later than that', number)
    .option('--expires-at <instant>', 'never start after that')
    .option('--timeout <seconds>', 'how long a run may take', number)
    .option('--backoff <json>', 'of kind, base_seconds, factor, cap_seconds, jitter', (json) =>
      JSON.parse(checkedJson(json, '--backoff')),
    )
    .option('--depends-on <ids>', 'not before these tasks are done, as in 12,34', (ids) =>
      ids.split(','),
    )
    .option('--on-parent-failure <what>', 'when one of them is dead: cancel, run or wait')
    .option('--include-results', 'be given their results')
    .option('--parent <id>', 'the task that it is a part of, shown with it')
    .option('--pipeline <stages>', 'queues it goes through, like fetch,parse,index', (stages) =>
      stages.split(','),
    )
    .option('--header <name=value>', 'kept with the task, such as traceparent=…; repeat it', header)
    .option('--push-url <url>', 'where a queue with push sends it')
    .option('--request-id <id>', 'a repeat with the same id gives the same tasks (24 hours)')
    .option('--many', 'read one payload a line from stdin (NDJSON)')
    .option('--tasks', 'read one task with its options a line from stdin, all in one call')
    .action((queue: string, json: string | undefined, _given, command: Command) =>
      enqueue(queue, json, optionsOf(command)),
    );
}
