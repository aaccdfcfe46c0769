import { z } from '@hono/zod-openapi';
import type { CallTock } from '../adapter.ts';
import { expectOk } from '../calls.ts';
import { type Call, decoded, forEach, type Handler, json } from '../qstash/call.ts';
import { secondsOf } from '../qstash/duration.ts';
import { bytesOf, fromBase64, toBase64 } from '../qstash/message.ts';
import { type MessageTask, readMessage } from '../qstash/search.ts';
import { time } from '../qstash/view.ts';
import {
  checkName,
  jsonIn,
  limitWait,
  openRun,
  readStep,
  refuse,
  runOfMessage,
  taskByKey,
  withoutEnd,
} from './find.ts';
import { nameOf, type Run, recordIn, recordKey, type Step, stepTasks } from './run.ts';
import { addTasks, messagesOf, search } from './runs.ts';

const waitSchema = z.looseObject({
  url: z.string(),
  timeout: z.union([z.string(), z.number()]),
  step: z.unknown(),
});
type Wait = z.output<typeof waitSchema>;

function waitIn(bytes: Uint8Array): { wait: Wait; step: Step; seconds: number } {
  const { data } = waitSchema.safeParse(jsonIn(bytes));
  if (!data) throw refuse('The body is no wait: it has url, timeout and step.');
  const { timeout } = data;
  const text = typeof timeout === 'number' ? `${timeout}s` : timeout;
  return { wait: data, step: readStep(data.step), seconds: secondsOf('timeout', text) };
}

/** The client sends a slash in a name as it is. */
const eventIn = (path: string) =>
  checkName('The name of an event', decoded(path.replace(/\?.*$/s, '')));

/** A waiter as Upstash answers it. */
function viewOf({ task, message }: MessageTask) {
  const { url, timeoutUrl, timeoutHeaders } = waitIn(bytesOf(message.body)).wait;
  const deadline = Math.floor(time(task.run_at ?? task.created_at) / 1000);
  return { url, deadline, headers: timeoutHeaders ?? {}, timeoutUrl, timeoutHeaders };
}

/** Gives a step the data of its event. What was first counts, the event or the end of its time. */
async function resume(
  tock: CallTock,
  run: Run,
  { task, message }: MessageTask,
  data: Uint8Array,
): Promise<string> {
  const { step } = waitIn(bytesOf(message.body));
  const event = { waitEventId: message.workflow?.event, waitTimeout: false };
  const result = { ...step, ...event, out: toBase64(data) };
  const [id = ''] = await addTasks(tock, stepTasks(run, step, JSON.stringify(result)));
  // It ends without a cancel, after which the same wait could be added once more.
  const answer = await tock('PATCH', `/v1/tasks/${task.id}`, { delay_seconds: 0 });
  if (answer.status !== 409) expectOk(answer);
  return id;
}

/** A step that waits for an event. */
export const wait: Handler = async (call, path = '') => {
  const event = await withoutEnd(async () => eventIn(path));
  const run = await openRun(call.tock, call.headers.get('Upstash-Workflow-RunId') ?? '');
  const bytes = await call.bytes();
  return withoutEnd(async () => {
    const { step, seconds } = waitIn(bytes);
    const delay_seconds = await limitWait(call.tock, run, seconds);
    const body = new TextDecoder().decode(bytes);
    const task = recordIn(run, 'wait', [`${step.stepId}`], { event }, body);
    const [id = ''] = await addTasks(call.tock, [{ ...task, delay_seconds }]);
    const [waiter, data] = [await readMessage(call.tock, id), await dataOf(call.tock, run, event)];
    if (waiter && data) await resume(call.tock, run, waiter, data);
    return json({ messageId: id });
  });
};

/** The data with which a run was notified of an event before it waited. */
async function dataOf(tock: CallTock, run: Run, event: string): Promise<Uint8Array | null> {
  const id = await taskByKey(tock, run.tenant, recordKey(run, 'event', event));
  const record = id === null ? null : await readMessage(tock, id);
  return record && fromBase64(record.message.body);
}

/** Whether a message is a wait. A client may add any payload. */
function isWait({ message }: MessageTask): boolean {
  try {
    return message.workflow?.kind === 'wait' && waitIn(bytesOf(message.body)) !== null;
  } catch {
    return false;
  }
}

const isWaiter = (event: string) => (one: MessageTask) =>
  one.task.state === 'waiting' && one.message.workflow?.event === event && isWait(one);

/** The steps that wait for an event, in all runs that the key may read. */
async function waitersOf(call: Call, event: string): Promise<MessageTask[]> {
  const within = { workflow: { kind: 'wait', event } };
  const query = new URLSearchParams();
  return (await search(call, query, ['waiting'], within)).filter(isWaiter(event));
}

async function notifyAll({ tock }: Call, waiters: MessageTask[], data: Uint8Array) {
  const notified = await forEach(waiters, async (waiter) => {
    const run = await runOfMessage(tock, waiter);
    if (!run) return [];
    const messageId = await resume(tock, run, waiter, data);
    return [{ waiter: viewOf(waiter), messageId, error: '', ...nameOf(run) }];
  });
  return json(notified.flat());
}

/** Notifies all runs that wait for an event, or one run, also if it waits only later. */
export const notify: Handler = async (call, path = '') => {
  const [, runName, rest] = /^(wfr_[^/]*)\/(.+)$/.exec(path) ?? [];
  const event = eventIn(rest ?? path);
  if (runName === undefined) {
    const data = await call.bytes();
    return notifyAll(call, await waitersOf(call, event), data);
  }
  const run = await openRun(call.tock, decoded(runName));
  const data = await call.bytes();
  // A wait is added before it looks for the event, so one of the two sees the other.
  const body = toBase64(data);
  await addTasks(call.tock, [recordIn(run, 'event', [event], { event }, body)]);
  return notifyAll(call, (await messagesOf(call.tock, run)).filter(isWaiter(event)), data);
};

export const listWaiters: Handler = async (call, path = '') => {
  const waiters = await waitersOf(call, eventIn(path));
  return json(waiters.map(viewOf));
};
