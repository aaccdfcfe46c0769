import { z } from '@hono/zod-openapi';
import type { CallTock } from '../adapter.ts';
import { expectOk } from '../calls.ts';
import { type Call, decoded, forEach, type Handler, json } from '../qstash/call.ts';
import { secondsOf } from '../qstash/duration.ts';
import { bytesOf, fromBase64, toBase64 } from '../qstash/message.ts';
import { type MessageTask, readMessage } from '../qstash/search.ts';
import type { Task } from '../qstash/task.ts';
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

/** A run keeps so many notifications of an event. */
const MAX_KEPT = 100;

/** The data of a notify is copied into the result of each step that waits for it, up to these bytes in all. */
const MAX_COPIED = 67_108_864;

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

/** Adds tasks; returns the id of the first one, null if its key is that of a task with another mark. */
async function addOwn(
  tock: CallTock,
  [first, ...more]: [Task, ...Task[]],
  nonce: string,
): Promise<string | null> {
  const qstash = { ...first.payload.qstash, nonce };
  const [id = ''] = await addTasks(tock, [{ ...first, payload: { qstash } }, ...more]);
  return (await readMessage(tock, id))?.message.nonce === nonce ? id : null;
}

/** Gives a step the data of its event. What was first counts: returns null if that is another event, or the timeout. */
async function resume(
  tock: CallTock,
  run: Run,
  { task, message }: MessageTask,
  data: Uint8Array,
  mark: string = crypto.randomUUID(),
): Promise<string | null> {
  const { step } = waitIn(bytesOf(message.body));
  const event = { waitEventId: message.workflow?.event, waitTimeout: false };
  const result = { ...step, ...event, out: toBase64(data) };
  const id = await addOwn(tock, stepTasks(run, step, JSON.stringify(result)), mark);
  // It ends without a cancel, after which the same wait could be added once more.
  const answer = await tock('PATCH', `/v1/tasks/${task.id}`, { delay_seconds: 0 });
  if (answer.status !== 409) expectOk(answer);
  return id;
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

/** A step that waits for an event. */
export const wait: Handler = async (call, path = '') => {
  const event = await withoutEnd(async () => eventIn(path));
  const run = await openRun(call.tock, call.headers.get('Upstash-Workflow-RunId') ?? '');
  const bytes = await call.bytes();
  return withoutEnd(async () => {
    const { step, seconds } = waitIn(bytes);
    const delay_seconds = await limitWait(call.tock, run, seconds);
    const body = new TextDecoder().decode(bytes);
    const task = recordIn(run, 'wait', ['wait', `${step.stepId}`], { event }, body);
    const [id = ''] = await addTasks(call.tock, [{ ...task, delay_seconds }]);
    const waiter = await readMessage(call.tock, id);
    if (waiter && isWaiter(event)(waiter)) await takeKept(call.tock, run, waiter, event);
    return json({ messageId: id });
  });
};

/** The notification with a number that a run has kept of an event; null if there is none. */
const keptAt = (tock: CallTock, run: Run, event: string, n: number): Promise<string | null> =>
  taskByKey(tock, run.tenant, recordKey(run, 'event', event, `${n}`));

/** Keeps a notification for the next wait of the run for the event. */
async function keep(tock: CallTock, run: Run, event: string, data: Uint8Array): Promise<void> {
  const mark = crypto.randomUUID();
  for (let n = 1; n <= MAX_KEPT; n++) {
    if ((await keptAt(tock, run, event, n)) !== null) continue;
    const record = recordIn(run, 'event', ['event', event, `${n}`], { event }, toBase64(data));
    if ((await addOwn(tock, [record], mark)) !== null) return;
  }
  throw refuse(`A workflow run keeps up to ${MAX_KEPT} notifications of one event.`);
}

/** Gives a wait the first notification that no other wait has taken; returns the id of its step, null without one. */
async function takeKept(
  tock: CallTock,
  run: Run,
  waiter: MessageTask,
  event: string,
): Promise<string | null> {
  const step = `${waitIn(bytesOf(waiter.message.body)).step.stepId}`;
  for (let n = 1; n <= MAX_KEPT; n++) {
    const kept = await keptAt(tock, run, event, n);
    if (kept === null) return null;
    const record = recordIn(run, 'taken', ['taken', event, `${n}`], { event, step });
    const [taken = ''] = await addTasks(tock, [record]);
    if ((await readMessage(tock, taken))?.message.workflow?.step !== step) continue;
    const data = fromBase64((await readMessage(tock, kept))?.message.body ?? '');
    const id = await resume(tock, run, waiter, data, kept);
    // The wait has ended otherwise.
    if (id === null) await keep(tock, run, event, data);
    return id;
  }
  return null;
}

/** The steps that wait for an event, in all runs that the key may read. */
async function waitersOf(call: Call, event: string): Promise<MessageTask[]> {
  const within = { workflow: { kind: 'wait', event } };
  const query = new URLSearchParams();
  return (await search(call, query, ['waiting'], within)).filter(isWaiter(event));
}

const answerOf = (run: Run, waiter: MessageTask, messageId: string | null) =>
  messageId === null ? [] : [{ waiter: viewOf(waiter), messageId, error: '', ...nameOf(run) }];

/** Gives all these steps the data. */
async function resumeAll(tock: CallTock, waiters: MessageTask[], data: Uint8Array) {
  if (waiters.length * data.length > MAX_COPIED)
    throw refuse(`The data is too large for the ${waiters.length} steps that wait for the event.`);
  const notified = await forEach(waiters, async (waiter) => {
    const run = await runOfMessage(tock, waiter);
    return run ? answerOf(run, waiter, await resume(tock, run, waiter, data)) : [];
  });
  return notified.flat();
}

/** Notifies the steps of a run that wait for an event; without any, the next one that waits for it. */
async function notifyRun(tock: CallTock, run: Run, event: string, data: Uint8Array) {
  const waitersIn = async () => (await messagesOf(tock, run, ['waiting'])).filter(isWaiter(event));
  const notified = await resumeAll(tock, await waitersIn(), data);
  if (notified.length > 0) return notified;
  await keep(tock, run, event, data);
  // A wait is added before it looks for what is kept, so one of the two sees the other.
  for (const waiter of await waitersIn())
    notified.push(...answerOf(run, waiter, await takeKept(tock, run, waiter, event)));
  return notified;
}

/** Notifies all runs that wait for an event, or one run, also if it waits only later. */
export const notify: Handler = async (call, path = '') => {
  const { tock } = call;
  const [, runName, rest] = /^(wfr_[^/]*)\/(.+)$/.exec(path) ?? [];
  const event = eventIn(rest ?? path);
  if (runName === undefined) {
    const data = await call.bytes();
    return json(await resumeAll(tock, await waitersOf(call, event), data));
  }
  const run = await openRun(tock, decoded(runName));
  return json(await notifyRun(tock, run, event, await call.bytes()));
};

export const listWaiters: Handler = async (call, path = '') => {
  const waiters = await waitersOf(call, eventIn(path));
  return json(waiters.map(viewOf));
};
