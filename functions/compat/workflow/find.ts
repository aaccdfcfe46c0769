import { HTTPException } from 'hono/http-exception';
import { refusal } from '../../http/problem.ts';
import type { CallTock } from '../adapter.ts';
import { expectOk } from '../calls.ts';
import { forEach, parseJson, unlessMissing } from '../qstash/call.ts';
import { PUBLISHED } from '../qstash/names.ts';
import { isId, type MessageTask, type TockTask } from '../qstash/search.ts';
import { time } from '../qstash/view.ts';
import {
  byKey,
  MAX_RUN_SECONDS,
  type Run,
  recordKey,
  runKey,
  runOf,
  type Step,
  stepSchema,
} from './run.ts';

/** Events and runs have names of up to this many characters. */
const MAX_NAME = 200;

/** The retention of a queue that sets none. */
const RETENTION = 604_800;

/** What is left for the steps after a wait: an hour, or a tenth of the time that a queue keeps. */
const MARGIN = 3600;

/** So a delivery, which reads all steps before it, stays within the time and the memory of a Worker. */
const MAX_STEPS = 1000;

/** serve() takes a 400 for the end of the run and stops in silence, so all other refusals of a step have this status. */
export const refuse = (text: string) => refusal(422, text);

/** Calls a function whose refusals are not about an ended run. */
export async function withoutEnd<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof HTTPException && error.status === 400) throw refuse(error.message);
    throw error;
  }
}

export function jsonIn(bytes: Uint8Array): unknown {
  try {
    return parseJson(bytes);
  } catch (error) {
    throw refuse((error as Error).message);
  }
}

export function checkName(what: string, name: string): string {
  if (name !== '' && name.length <= MAX_NAME && !name.includes('\0')) return name;
  throw refuse(`${what}: 1 to ${MAX_NAME} characters`);
}

export function readStep(value: unknown): Step {
  const { data } = stepSchema.safeParse(value);
  if (!data) throw refuse('The body is no step: it has stepId, stepName and concurrent.');
  checkStepId(Math.max(data.stepId, data.targetStep ?? 0));
  return data;
}

/** serve() numbers the steps of a run from 1. */
export function checkStepId(id: number): void {
  if (id > MAX_STEPS) throw refuse(`A workflow run has up to ${MAX_STEPS} steps.`);
}

/** The id of the task with a key, in any state. */
export async function taskByKey(
  tock: CallTock,
  tenant: string | null,
  key: string,
): Promise<string | null> {
  const { tasks } = expectOk(await tock('GET', byKey(tenant, key)));
  return tasks[0]?.id ?? null;
}

const tenantsOf = async (tock: CallTock): Promise<string[] | null> =>
  expectOk(await tock('GET', '/v1/key')).tenants;

/** The run that a task begins, or began before it ran again; null if it is none, or none that the key may read. */
export async function runAt(tock: CallTock, id: string): Promise<Run | null> {
  const task = unlessMissing(await tock('GET', `/v1/tasks/${id}`)) as TockTask | null;
  if (task?.rerun_of) return runAt(tock, task.rerun_of);
  const run = task?.queue === PUBLISHED ? runOf(task, time(task.created_at)) : null;
  if (!task || !run) return null;
  const kept_at = task.ended_at ? time(task.ended_at) : Date.now();
  return { ...run, kept_at, is_own: run.tenant !== null && (await tenantsOf(tock)) !== null };
}

/** The runs of messages, each with its messages, without those that are gone. */
export async function runsOf(
  tock: CallTock,
  all: readonly MessageTask[],
): Promise<{ run: Run; messages: MessageTask[] }[]> {
  const groups = new Map<string, MessageTask[]>();
  for (const one of all) {
    const key = JSON.stringify([one.task.tenant, one.message.workflow?.nonce]);
    const group = groups.get(key) ?? [];
    groups.set(key, group);
    group.push(one);
  }
  const found = await forEach([...groups.values()], async (messages) => {
    const run = await runOfMessage(tock, messages[0] as MessageTask);
    return run ? [{ run, messages }] : [];
  });
  return found.flat();
}

/** The run of a message; null if it has none. A forged payload may name the run of another, but not its nonce. */
export async function runOfMessage(
  tock: CallTock,
  { task, message }: MessageTask,
): Promise<Run | null> {
  const { root = task.id, nonce } = message.workflow ?? {};
  const run = task.queue === PUBLISHED && isId(root) ? await runAt(tock, root) : null;
  return run?.part.nonce === nonce && run?.tenant === task.tenant ? run : null;
}

export async function findRun(tock: CallTock, name: string): Promise<Run | null> {
  const key = runKey(checkName('Upstash-Workflow-RunId', name));
  let id = await taskByKey(tock, null, key);
  if (id === null) {
    for (const tenant of (await tenantsOf(tock)) ?? []) id ??= await taskByKey(tock, tenant, key);
  }
  return id === null ? null : runAt(tock, id);
}

export const isEnded = async (tock: CallTock, run: Run): Promise<boolean> =>
  (await taskByKey(tock, run.tenant, recordKey(run, 'end'))) !== null;

/** A run that goes on. Only for one that has ended the status is 400, at which serve() stops in silence. */
export async function openRun(tock: CallTock, name: string): Promise<Run> {
  const run = await findRun(tock, name);
  if (!run) throw refuse(`The key sees no workflow run ${name.slice(0, 100)}.`);
  if (!(await isEnded(tock, run))) return run;
  throw refusal(400, `The workflow run ${name.slice(0, 100)} has ended.`);
}

/** The seconds for which the queue keeps the beginning of a run from now on. */
async function secondsLeft(tock: CallTock, run: Run): Promise<number> {
  const { status, body } = await tock('GET', `/v1/queues/${PUBLISHED}`);
  // A key for tenants reads no settings.
  const kept = Math.min(status === 200 ? body.retention_seconds : RETENTION, MAX_RUN_SECONDS);
  const margin = Math.min(MARGIN, kept / 10);
  return Math.max(0, kept - (Date.now() - run.kept_at) / 1000 - margin);
}

/** The seconds of a wait, or fewer if the beginning of the run would be gone by then. */
export const limitWait = async (tock: CallTock, run: Run, seconds: number): Promise<number> =>
  seconds <= 0 ? seconds : Math.min(seconds, await secondsLeft(tock, run));

/** Refuses a sleep after which the beginning of the run would be gone. */
export async function checkSleep(tock: CallTock, run: Run, seconds: number): Promise<void> {
  if ((await limitWait(tock, run, seconds)) >= seconds) return;
  throw refuse(
    `A workflow run takes up to retention_seconds of the queue ${PUBLISHED}: raise them, up to ${MAX_RUN_SECONDS}.`,
  );
}
