import { z } from '@hono/zod-openapi';
import type { Call } from '../qstash/call.ts';
import { destinationOf } from '../qstash/destination.ts';
import { bodyOf, bytesOf, bytesOfBody, type Message } from '../qstash/message.ts';
import { PUBLISHED } from '../qstash/names.ts';
import { type Options, optionsOf } from '../qstash/options.ts';
import { checkCallbacks, type Item, messageTo, type Task, taskOf } from '../qstash/task.ts';
import {
  checkName,
  checkSleep,
  checkStepId,
  jsonIn,
  openRun,
  readStep,
  refuse,
  withoutEnd,
} from './find.ts';
import { type Run, recordKey, runKey, stepTasks, withKey } from './run.ts';

type Body = Pick<Message, 'body' | 'base64'>;
export type ReadRun = (name: string) => Promise<Run>;

const RUN = 'Upstash-Workflow-RunId';
const STEP = 'Upstash-Callback-Forward-Upstash-Workflow-StepId';

const invocation = z.object({
  body: z.string().optional(),
  workflowRunId: z.string(),
  step: z.unknown(),
});

/** A new run is that of the caller's tenant, if it has one. */
const CALLER = { tenant: null, is_own: true };

/** Whether a message belongs to a run of a workflow. */
export const isOfRun = (headers: Headers): boolean => headers.has(RUN);

/** Reads each open run once. */
export function runReader({ tock }: Call): ReadRun {
  const runs = new Map<string, Promise<Run>>();
  return (name) => {
    const run = runs.get(name) ?? openRun(tock, name);
    runs.set(name, run);
    return run;
  };
}

/** The seconds from now until a message is due. */
const secondsUntil = ({ delay = 0, not_before }: Options) =>
  not_before === undefined ? delay : not_before - Date.now() / 1000;

/** The payload of a run that another one invokes, and what gets its result. */
async function invocationIn(body: Body, readRun: ReadRun) {
  const { data } = invocation.safeParse(jsonIn(bytesOfBody(body as Message)));
  if (!data) throw refuse('The body is no invocation: it has workflowRunId and step.');
  const step = readStep(data.step);
  const { root, part } = await readRun(data.workflowRunId);
  return { body: bodyOf(bytesOf(data.body ?? '')), invoker: { root, nonce: part.nonce, step } };
}

/** The first message of a run. */
async function firstTask(
  url: string,
  headers: Headers,
  options: Options,
  body: Body,
  readRun: ReadRun,
): Promise<Task> {
  const run = checkName(RUN, headers.get(RUN) ?? '');
  const isInvoked = headers.get('Upstash-Workflow-Invoke') === 'true';
  const { body: initial, ...more } = isInvoked ? await invocationIn(body, readRun) : { body };
  const nonce = crypto.randomUUID();
  const workflow = { run, nonce, kind: 'init' as const, ...more };
  const message = messageTo(url, options, initial, { nonce, workflow });
  return withKey(taskOf(message, options, PUBLISHED), CALLER, runKey(run));
}

/** A request to a third party, whose answer comes back as a callback. */
function callTask(run: Run, url: string, headers: Headers, options: Options, body: Body): Task {
  const step = headers.get(STEP) ?? '';
  if (!options.callback) throw refuse('Upstash-Callback: a call of a workflow needs it');
  if (!/^\d{1,9}$/.test(step)) throw refuse(`${STEP}: a whole number`);
  checkStepId(Number(step));
  const { run: name, nonce } = run.part;
  const workflow = { run: name, nonce, kind: 'call' as const, root: run.root, step };
  const { labels } = run.message;
  const task = taskOf(messageTo(url, options, body, { workflow, labels }), options, PUBLISHED);
  const own = { ...task, parent: run.root, ...(run.tenant !== null && { tenant: run.tenant }) };
  return withKey(own, run, recordKey(run, 'call', step));
}

/** The tasks of a message with the headers of Upstash Workflow. */
export async function itemOfRun(
  call: Call,
  readRun: ReadRun,
  destination: string,
  headers: Headers,
  body: Body,
  queueName: string | undefined,
): Promise<Item> {
  const item = (tasks: Task[], flow = {}): Item => ({
    isGroup: false,
    queue: PUBLISHED,
    tasks,
    ...flow,
  });
  const own = async () => {
    const options = optionsOf(headers);
    checkCallbacks(options, call.env);
    const to = destinationOf(destination, call.env);
    if (queueName !== undefined || options.cron !== undefined || 'group' in to)
      throw refuse('A message of a workflow has a URL, and neither a queue nor a cron expression.');
    const flow = options.flow && { flow: options.flow };
    return { options, url: to.url, flow };
  };
  const { options, url, flow } = await withoutEnd(own);
  if (headers.get('Upstash-Workflow-Init') === 'true')
    return item([await firstTask(url, headers, options, body, readRun)], flow);
  const run = await readRun(headers.get(RUN) ?? '');
  return withoutEnd(async () => {
    if (headers.get('Upstash-Workflow-CallType') === 'toCallback')
      return item([callTask(run, url, headers, options, body)], flow);
    const seconds = secondsUntil(options);
    await checkSleep(call.tock, run, seconds);
    const text = new TextDecoder().decode(bytesOfBody(body as Message));
    const [first, ...locks] = stepTasks(run, readStep(jsonIn(bytesOf(text))), text);
    const delay_seconds = Math.max(0, seconds);
    return item([{ ...first, ...(seconds > 0 && { delay_seconds }) }, ...locks]);
  });
}
