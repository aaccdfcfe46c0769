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
/** The largest sum of the steps in one delivery, as they are stored. */
const MAX_BYTES = 8_388_608;

/**
 * The first message of a run, and a page of its steps. Any payload may name the run of another, and any task may have
 * it as its parent. So each message proves by the nonce that it belongs to the run, or nothing more is read. A first
 * message that runs again belongs to the run that it began.
 */
const partOfRun = `t.queue = $3 and t.tenant is not distinct from $4
    and t.payload::jsonb #>> '{qstash,workflow,nonce}' = $5`;
const columns = 't.id, t.payload, t.tenant, t.max_attempts, t.created_at';
/** Without the limit the planner expects 1,000 rows, for which PostgreSQL compiles the statement for seconds. */
const taskAt = (id: string) => `(select * from tock.task(p_id => ${id}) limit 1) as t`;
const messagesSql = `with recursive origin as (
  select t.* from ${taskAt('$1::bigint')}
  union all
  select t.* from origin as o cross join lateral ${taskAt('o.rerun_of')} where o.rerun_of is not null
), run as materialized (
  select ${columns}, $2::bigint > 0 as known from origin as t where t.rerun_of is null and ${partOfRun}
), page as materialized (
  select c.id, c.queue from run as r
  cross join lateral tock.children(p_id => r.id, p_limit => ${PAGE}, p_after => $2::bigint) as c
), part as (
  select r.* from run as r
  union all
  select ${columns}, false from page as p cross join lateral ${taskAt('p.id')}
  where p.queue = $3 and ${partOfRun}
), sized as (
  select p.*, k.kind, sum(case when p.known then 0 else octet_length(p.payload::text) end) over (order by p.id) as bytes
  from part as p cross join lateral (select p.payload::jsonb #>> '{qstash,workflow,kind}' as kind) as k
  where k.kind in ('init', 'step', 'end')
)
select s.id::text as id, s.kind, case when not s.known and s.bytes <= $6 then s.payload end as payload, s.tenant,
  s.max_attempts, (extract(epoch from s.created_at) * 1000)::bigint::text as created_at, s.bytes::text as bytes,
  (select max(p.id) from page as p having count(*) = ${PAGE})::text as next
from sized as s order by s.id`;

type Row = {
  id: string;
  kind: string;
  payload: unknown;
  tenant: string | null;
  max_attempts: number;
  created_at: string;
  bytes: string;
  next: string | null;
};

/** A run with its steps, in the order in which they were added. */
export type RunState = {
  run: Run;
  steps: { id: string; message: Message }[];
  /** Whether the last steps are left out, since all are too large. */
  isCut: boolean;
  ended: boolean;
};

/** Reads the run of a message; null if its first message is gone, or the message is none of it. */
export async function readRun(
  query: Query,
  { nonce, root }: Pick<WorkflowPart, 'nonce' | 'root'>,
  task: Claimed,
): Promise<RunState | null> {
  const rows: Row[] = [];
  let bytes = 0;
  for (let after: string | null = '0'; after !== null; ) {
    const values = [root ?? task.id, after, task.queue, task.tenant, nonce, MAX_BYTES - bytes];
    const page = (await query(messagesSql, values)) as Row[];
    // Each page begins with the first message.
    rows.push(...page.slice(rows.length > 0 ? 1 : 0));
    bytes += Number(page.at(-1)?.bytes ?? 0);
    after = page[0]?.next ?? null;
  }
  const run = rows[0] && runOf(rows[0], Number(rows[0].created_at));
  if (!run) return null;
  const steps = rows.filter(({ kind }) => kind === 'step');
  return {
    run,
    steps: steps.flatMap(({ id, payload }) => {
      const message = messageOf(payload);
      return message ? [{ id, message }] : [];
    }),
    isCut: steps.some(({ payload }) => payload === null),
    ended: rows.some(({ kind }) => kind === 'end'),
  };
}

const encoded = (message: Message) => toBase64(bytesOfBody(message));

/** All steps of a run up to that of a message, as serve() reads them. */
function bodyFor({ run, steps, isCut }: RunState, { workflow }: Message): string {
  const own = steps.findIndex(({ message }) => message.workflow?.step === workflow?.step);
  if (workflow?.kind === 'step' && own < 0 && isCut)
    throw new Fatal(`the steps of this workflow run have more than ${MAX_BYTES} bytes`);
  const before = workflow?.kind === 'step' ? steps.slice(0, own + 1) : [];
  return JSON.stringify(
    [{ id: run.root, message: run.message }, ...before].map(({ id, message }) => ({
      messageId: id,
      body: encoded(message),
      callType: 'step',
    })),
  );
}

/** Whether a message only says that something has happened. */
export const isRecord = ({ workflow }: Message): boolean =>
  workflow !== undefined && ['event', 'taken', 'end'].includes(workflow.kind);

/** The message as it is sent; null if there is nothing to send. */
export async function partToSend(
  state: RunState,
  message: Message,
  task: Claimed,
  enqueue: (tasks: object[], request_id: string) => Promise<void>,
): Promise<Message | null> {
  const { run, ended } = state;
  const { kind } = message.workflow ?? {};
  if (ended) return null;
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
  return { ...text, headers, body: bodyFor(state, message) };
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

/** The tasks that tell the run that invoked this one of its failure; none if it is gone. */
export async function failedInvocation(
  query: Query,
  { run }: RunState,
  task: Claimed,
  body: unknown,
): Promise<object[]> {
  const { invoker } = run.part;
  if (!invoker) return [];
  const waiting = await readRun(query, invoker, task);
  return waiting ? invokerTasks(waiting.run, run, { body, isFailed: true }) : [];
}
