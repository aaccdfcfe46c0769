import { type Call, forEach, type Handler, json } from '../qstash/call.ts';
import { bytesOfBody } from '../qstash/message.ts';
import { PUBLISHED } from '../qstash/names.ts';
import { countIn, findIds, type MessageTask } from '../qstash/search.ts';
import { time } from '../qstash/view.ts';
import { findRun, jsonIn, runAt } from './find.ts';
import type { Run } from './run.ts';
import { isStep, messagesIn, tasksOf, unfinished } from './runs.ts';

const COUNT = 10;
const MAX_COUNT = 100;
/** Their end without success is the failure of the run. */
const inFlow = ['init', 'step', 'call', 'callback', 'wait'];
const failureStates: Record<string, string> = { done: 'CALLBACK_SUCCESS', dead: 'CALLBACK_FAIL' };

const isUnfinished = ({ task }: MessageTask) => unfinished.includes(task.state);
const isFailed = ({ task }: MessageTask) => task.state === 'dead' && task.reruns.length === 0;
const textOf = ({ message }: MessageTask) => new TextDecoder().decode(bytesOfBody(message));

type View = Record<string, unknown>;

/** The body of a step. A client may add any payload. */
function bodyOf({ message }: MessageTask): View {
  try {
    return Object(jsonIn(bytesOfBody(message)));
  } catch {
    return {};
  }
}

/** A step that has ended, or the plan of one that has not. */
function stepView(one: MessageTask): View {
  const { task, message } = one;
  const body: View =
    message.workflow?.kind === 'init'
      ? { stepName: 'init', stepType: 'Initial', concurrent: 1, out: textOf(one) }
      : bodyOf(one);
  return {
    ...body,
    callType: 'step',
    messageId: task.id,
    retries: task.max_attempts - 1,
    retryDelay: message.retry_delay,
    state: body.stepId === 0 ? 'STEP_PROGRESS' : 'STEP_SUCCESS',
    createdAt: time(task.created_at),
  };
}

/** The steps, those that run in parallel together. */
function groupsOf(messages: MessageTask[]) {
  const steps = messages.filter(isStep).map(stepView);
  const ended = new Set(steps.map(({ stepId }) => stepId));
  const groups: { type: string; steps: View[] }[] = [];
  let left = 0;
  for (const step of steps) {
    if (step.stepId === 0 && ended.has(step.targetStep)) continue;
    const type = Number(step.concurrent) > 1 ? 'parallel' : 'sequential';
    if (left > 0) groups.at(-1)?.steps.push(step);
    else groups.push({ type, steps: [step] });
    left = (left || Number(step.concurrent)) - 1;
  }
  return groups;
}

/** A message that is to be delivered, or whose delivery has failed. */
function nextView({ task }: MessageTask) {
  const errors = task.runs.flatMap(({ error, ended_at }) =>
    error && ended_at ? [{ error: error.message, time: time(ended_at) }] : [],
  );
  const open = errors.length > 0 ? 'STEP_RETRY' : 'STEP_PROGRESS';
  const state = task.state === 'dead' ? 'STEP_FAILED' : open;
  return { messageId: task.id, state, retries: task.max_attempts - 1, errors };
}

/** What has become of a run. Without the record of its end it has not succeeded. */
function stateOf(end: MessageTask | undefined, flow: MessageTask[], isErased: boolean): string {
  if (end) return end.message.workflow?.state === 'cancelled' ? 'RUN_CANCELED' : 'RUN_SUCCESS';
  if (flow.some(isUnfinished)) return 'RUN_STARTED';
  if (flow.some(isFailed)) return 'RUN_FAILED';
  const isLast = (state: string) =>
    flow.some(({ task }) => task.state === state && task.reruns.length === 0);
  if (isLast('cancelled')) return 'RUN_CANCELED';
  // A step may have been added while its run was read.
  return isLast('expired') || isErased ? 'RUN_FAILED' : 'RUN_STARTED';
}

async function logOf({ tock }: Call, run: Run) {
  const tasks = await tasksOf(tock, run);
  const messages = await messagesIn(tock, run, tasks);
  const known = new Set(messages.map(({ task }) => task.id));
  const isErased = tasks.some(({ id, state }) => state === 'dead' && !known.has(id));
  const of = (...kinds: string[]) =>
    messages.filter(({ message }) => kinds.includes(message.workflow?.kind ?? ''));
  const [[end], failure] = [of('end'), of('failure').at(-1)];
  const flow = of(...inFlow);
  const failed = flow.find(isFailed);
  const next = flow.filter((one) => isUnfinished(one) || isFailed(one)).map(nextView);
  return {
    workflowRunId: run.part.run,
    workflowUrl: run.message.url,
    workflowState: stateOf(end, flow, isErased),
    workflowRunCreatedAt: run.created_at,
    workflowRunCompletedAt: end && time(end.task.created_at),
    workflowRunResponse: (end && textOf(end)) || undefined,
    dlqId: failed?.task.id,
    label: run.message.labels?.[0],
    failureFunction: failure && {
      messageId: failure.task.id,
      url: failure.message.url,
      state: failureStates[failure.task.state] ?? 'CALLBACK_INPROGRESS',
    },
    steps: [...groupsOf(messages), ...(next.length > 0 ? [{ type: 'next', steps: next }] : [])],
  };
}

async function runsIn(call: Call): Promise<{ runs: (Run | null)[]; cursor?: string }> {
  const name = call.query.get('workflowRunId');
  if (name !== null) return { runs: [await findRun(call.tock, name)] };
  const count = countIn(call.query, COUNT, MAX_COUNT);
  const within = { workflow: { kind: 'init' } };
  const further = ['state', 'groupBy'];
  const page = await findIds(call, [{ queue: PUBLISHED }], count, further, undefined, within);
  return { ...page, runs: await forEach(page.ids, (id) => runAt(call.tock, id)) };
}

export const listLogs: Handler = async (call) => {
  const state = call.query.get('state');
  const { runs: found, cursor } = await runsIn(call);
  // A first message that has run again is of the same run.
  const byRoot = new Map(found.flatMap((run) => (run ? [[run.root, run] as const] : [])));
  const logs: Awaited<ReturnType<typeof logOf>>[] = [];
  // One after the other: each reads several messages at once.
  for (const run of byRoot.values()) logs.push(await logOf(call, run));
  return json({
    runs: logs.filter(({ workflowState }) => !state || workflowState === state),
    cursor,
  });
};
