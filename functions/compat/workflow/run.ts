import { z } from '@hono/zod-openapi';
import { bodyOf, bytesOf, type Message, messageOf, type WorkflowPart } from '../qstash/message.ts';
import { PUBLISHED } from '../qstash/names.ts';
import type { Task } from '../qstash/task.ts';

/** How long a run may take: so long its id and those of its steps are known. */
export const MAX_RUN_SECONDS = 2_592_000;

/** A run of a workflow: its first message, which holds the settings of all others. */
export type Run = {
  /** The id of the task of the first message. */
  root: string;
  message: Message;
  part: WorkflowPart;
  max_attempts: number;
  /** In Unix milliseconds. */
  created_at: number;
  /** When its first delivery ended, or now. From then on the queue keeps the first message. */
  kept_at: number;
  tenant: string | null;
  /** Whether the caller's key is limited to the tenant: then the database adds its name to keys of tasks. */
  is_own: boolean;
};

/** The run that a task begins; null for any other task. */
export function runOf(
  {
    id,
    payload,
    max_attempts,
    tenant,
  }: Pick<Run, 'max_attempts' | 'tenant'> & { id: string; payload: unknown },
  created_at: number,
): Run | null {
  const message = messageOf(payload);
  if (message?.workflow?.kind !== 'init') return null;
  const run = { root: id, message, part: message.workflow, max_attempts, created_at };
  return { ...run, kept_at: created_at, tenant, is_own: false };
}

/** What a step's body says of its place in the run. */
export const stepSchema = z.looseObject({
  stepId: z.int().min(0),
  stepName: z.string(),
  concurrent: z.int().min(1),
  /** Only in the plan of a parallel step, whose own id is 0. */
  targetStep: z.int().min(0).nullish(),
});
export type Step = z.output<typeof stepSchema>;

/** What answers call a run. */
export const nameOf = ({ part, created_at }: Run) => ({
  workflowRunId: part.run,
  workflowCreatedAt: created_at,
});

/** A key of a task as the database stores it. */
const stored = (tenant: string | null, key: string) =>
  tenant === null ? key : `tenant:${tenant.replaceAll('~', '~0').replaceAll('/', '~1')}/${key}`;

type Owner = Pick<Run, 'tenant' | 'is_own'>;
const sent = ({ tenant, is_own }: Owner, key: string) => (is_own ? key : stored(tenant, key));

/** The key by which the first message of a run is found. */
export const runKey = (run: string) => `run ${run}`;

/** The key of a record of a run. A nonce is part of it, so that no one else can take it. */
export const recordKey = ({ part }: Run, ...names: string[]) => [...names, part.nonce].join(' ');

/** The task, added once for its key. */
export const withKey = (task: Task, owner: Owner, key: string): Task => ({
  ...task,
  unique_key: sent(owner, `qstash ${key}`),
  unique_policy: 'period',
  unique_seconds: MAX_RUN_SECONDS,
  on_conflict: 'keep',
});

type More = Partial<Pick<WorkflowPart, 'step' | 'event' | 'state'>>;

/** A message of a run, with the settings of the first one. */
export function messageIn(
  { root, message, part, created_at }: Run,
  kind: WorkflowPart['kind'],
  own: Partial<Message>,
  more: More = {},
): Message {
  const { run, nonce } = part;
  const { callback: _none, base64: _kind, nonce: _unique, ...settings } = message;
  const workflow = { run, nonce, kind, root, created_at, ...more };
  return { ...settings, body: '', ...own, workflow };
}

/** The task of a message of a run. */
export const taskIn = (run: Run, message: Message): Task => ({
  payload: { qstash: message },
  push_url: message.url,
  max_attempts: run.max_attempts,
  parent: run.root,
  ...(message.flow && { concurrency_key: sent(run, message.flow.key) }),
  ...(run.tenant !== null && { tenant: run.tenant }),
});

/** No call to the endpoint counts them: a wait that has failed only tries again to add its step. */
const RECORD_ATTEMPTS = 100;

/** A task that is not sent. It says that something has happened, once for its key. */
export const recordIn = (
  run: Run,
  kind: 'wait' | 'event' | 'taken' | 'end',
  key: string[],
  more: More,
  body = '',
): Task => {
  const { flow: _none, ...message } = messageIn(
    run,
    kind,
    { headers: {}, ...bodyOf(bytesOf(body)) },
    more,
  );
  const task = { ...taskIn(run, message), max_attempts: RECORD_ATTEMPTS };
  return withKey(task, run, recordKey(run, ...key));
};

/**
 * The tasks that add a step to its run; the first one is its message. A call that names a key twice locks it, so
 * results of parallel steps are added one after the other. By that their ids are in the order of the commits, and the
 * last one is delivered with all the others.
 */
export function stepTasks(run: Run, step: Step, body: string): [Task, ...Task[]] {
  const { stepId, targetStep, concurrent } = step;
  const name = stepId === 0 ? `plan ${targetStep ?? 0}` : `${stepId}`;
  const message = messageIn(run, 'step', bodyOf(bytesOf(body)), { step: name });
  const task = withKey(taskIn(run, message), run, recordKey(run, 'step', name));
  if (concurrent === 1 || stepId === 0) return [task];
  const lock = recordIn(run, 'event', ['lock'], {});
  return [task, lock, lock];
}

/** The tasks that give the run that invoked this one its result; none if no run did. */
export function invokerTasks(invoker: Run, run: Run, outcome: object): Task[] {
  const { step } = run.part.invoker ?? {};
  const out = JSON.stringify({ workflowRunId: run.part.run, ...outcome });
  return stepTasks(invoker, step as Step, JSON.stringify({ ...step, out }));
}

/** The query that finds the task with a key. */
export const byKey = (tenant: string | null, key: string) =>
  `/v1/tasks?${new URLSearchParams({ queue: PUBLISHED, unique_key: stored(tenant, `qstash ${key}`) })}`;
