import { Fatal } from '../../../client/errors.ts';
import type { Claimed } from '../../../client/types.ts';
import type { Query } from '../../database/types.ts';
import { MAX_SOURCE } from '../qstash/callback.ts';
import {
  bytesOf,
  bytesOfBody,
  type Callback,
  type Message,
  messageOf,
  toBase64,
  type WorkflowPart,
} from '../qstash/message.ts';
import {
  invokerTasks,
  messageIn,
  nameOf,
  type Run,
  runOf,
  type Step,
  stepTasks,
  taskIn,
} from './run.ts';

const PAGE = 1000;
/** A forged payload names tasks of others, so a message of the run proves by the nonce that it is one. */
const messagesSql = `select i.id::text as id, case when t.queue = $3 and t.tenant is not distinct from $4
      and t.payload::jsonb #>> '{qstash,workflow,nonce}' = $5
      and t.payload::jsonb #>> '{qstash,workflow,kind}' in ('init', 'step', 'end') then t.payload end as payload,
    t.tenant, t.max_attempts, (extract(epoch from t.created_at) * 1000)::bigint::text as created_at
  from (select $1::bigint where $2::bigint = 0
    union all select c.id from tock.children(p_id => $1::bigint, p_limit => ${PAGE}, p_after => $2::bigint) as c)
    as i (id)
  cross join lateral tock.task(p_id => i.id) as t order by i.id`;

type Row = {
  id: string;
  payload: unknown;
  tenant: string | null;
  max_attempts: number;
  created_at: string;
};

/** A run with its steps, in the order in which they were added. */
export type RunState = { run: Run; steps: { id: string; message: Message }[]; ended: boolean };

/** Reads the run of a message; throws if it is gone, or the message is none of it. */
export async function readRun(
  query: Query,
  { nonce, root }: Pick<WorkflowPart, 'nonce' | 'root'>,
  task: Claimed,
): Promise<RunState> {
  const rows: Row[] = [];
  for (let after = '0', full = true; full; after = rows.at(-1)?.id ?? '') {
    const values = [root ?? task.id, after, task.queue, task.tenant, nonce];
    const page = (await query(messagesSql, values)) as Row[];
    rows.push(...page);
    full = page.length >= PAGE;
  }
  const run = rows[0] && runOf(rows[0], Number(rows[0].created_at));
  if (!run) throw new Fatal('the first message of this workflow run is gone');
  const messages = rows.flatMap(({ id, payload }) => {
    const part = messageOf(payload);
    return part ? [{ id, message: part }] : [];
  });
  const of = (kind: string) => messages.filter(({ message: part }) => part.workflow?.kind === kind);
  return { run, steps: of('step'), ended: of('end').length > 0 };
}

const encoded = (message: Message) => toBase64(bytesOfBody(message));

/** All steps of a run up to that of a message, as serve() reads them. */
function bodyFor({ run, steps }: RunState, message: Message, id: string): string {
  const { kind, step } = message.workflow ?? {};
  const own = steps.findIndex((one) => one.message.workflow?.step === step);
  const all =
    kind === 'init'
      ? [{ id, message }]
      : [{ id: run.root, message: run.message }, ...steps.slice(0, own + 1)];
  return JSON.stringify(
    all.map((one) => ({ messageId: one.id, body: encoded(one.message), callType: 'step' })),
  );
}

/** The message as it is sent; null if there is nothing to send. */
export async function partToSend(
  state: RunState,
  message: Message,
  task: Claimed,
  enqueue: (tasks: object[], request_id: string) => Promise<void>,
): Promise<Message | null> {
  const { run, ended } = state;
  const { kind } = message.workflow ?? {};
  if (ended || kind === 'event' || kind === 'end') return null;
  if (kind === 'wait') {
    const { step } = JSON.parse(message.body) as { step: Step };
    const result = { ...step, waitEventId: message.workflow?.event, waitTimeout: true };
    await enqueue(stepTasks(run, step, JSON.stringify(result)), `qstash ${task.id} timeout`);
    return null;
  }
  if (kind === 'call') return message;
  const headers = {
    ...message.headers,
    'upstash-workflow-runid': run.part.run,
    'upstash-workflow-createdat': String(run.created_at),
    'upstash-workflow-sdk-version': '1',
  };
  if (kind !== 'init' && kind !== 'step') return { ...message, headers };
  const { base64: _kind, ...text } = message;
  return { ...text, headers, body: bodyFor(state, message, task.id) };
}

/** The task of a callback in a run: the answer to a call, or the last answer to a delivery that has failed. */
export function callbackIn(
  { run }: RunState,
  callback: Callback,
  task: Claimed,
  report: object,
  isFailure: boolean,
): object {
  const { url, method, retry_delay, timeout, retries } = callback;
  const { host, pathname } = new URL(url);
  const headers = {
    ...run.message.headers,
    ...callback.headers,
    'content-type': 'application/json',
  };
  const own = { url, host, path: pathname, method, headers };
  if (!isFailure) {
    const answer = toBase64(bytesOf(JSON.stringify(report)));
    const body = JSON.stringify([{ messageId: task.id, body: answer, callType: 'fromCallback' }]);
    return taskIn(run, messageIn(run, 'callback', { ...own, body }));
  }
  const source = encoded(run.message);
  const known = { ...nameOf(run), sourceBody: source.length > MAX_SOURCE ? undefined : source };
  const body = JSON.stringify({ ...report, ...known });
  const failure = messageIn(run, 'failure', { ...own, body }, { step: task.id });
  const { failure_callback: _none, ...message } = failure;
  return { ...taskIn(run, { ...message, retry_delay, timeout }), max_attempts: retries + 1 };
}

/** The tasks that tell the run that invoked this one of its failure. */
export async function failedInvocation(
  query: Query,
  { run }: RunState,
  task: Claimed,
  body: unknown,
): Promise<object[]> {
  const { invoker } = run.part;
  if (!invoker) return [];
  const waiting = await readRun(query, invoker, task);
  return invokerTasks(waiting.run, run, { body, isFailed: true });
}
