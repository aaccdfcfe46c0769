import { refusal } from '../../http/problem.ts';
import type { CallTock } from '../adapter.ts';
import { expectOk } from '../calls.ts';
import { type Call, done, forEach, type Handler, json } from '../qstash/call.ts';
import { bytesOfBody, toBase64 } from '../qstash/message.ts';
import { PUBLISHED } from '../qstash/names.ts';
import { countIn, findIds, type MessageTask, type Page, readMessages } from '../qstash/search.ts';
import { findRun, isEnded, runAt, runsOf } from './find.ts';
import { invokerTasks, type Run, recordIn } from './run.ts';

type Child = { id: string; queue: string; state: string };

/** A bulk call cancels at most this many runs. */
const MOST = 1000;
export const unfinished = ['waiting', 'ready', 'running'];

/** The tasks of a run after its first one, in the order in which they were added. */
async function childrenOf(tock: CallTock, { root }: Run): Promise<Child[]> {
  const all: Child[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const page = `limit=1000${cursor && `&cursor=${cursor}`}`;
    const answer = expectOk(await tock('GET', `/v1/tasks/${root}/children?${page}`));
    all.push(...answer.children.filter(({ queue }: Child) => queue === PUBLISHED));
    cursor = answer.cursor;
  }
  return all;
}

/** Any task may have the first one of a run as its parent, so a message proves by the nonce that it is of the run. */
const isOf =
  ({ part, tenant }: Run) =>
  ({ task, message: { workflow } }: MessageTask): boolean =>
    workflow?.nonce === part.nonce && task.tenant === tenant;

/** All tasks that may be of a run: its first one, those after it, and the reruns of these. */
export async function tasksOf(tock: CallTock, run: Run): Promise<Child[]> {
  const children = await childrenOf(tock, run);
  const dead = new Set(children.filter(({ state }) => state === 'dead').map(({ id }) => id));
  const all = [...children];
  for (let ids = [run.root, ...dead]; ids.length > 0; ) {
    const tasks = (await readMessages(tock, ids)).filter(isOf(run)).map(({ task }) => task);
    all.push(...tasks.filter(({ id }) => !dead.has(id)));
    ids = tasks.flatMap(({ reruns }) => reruns.map(({ id }) => id));
  }
  return all;
}

/** The messages of a run among tasks, in the order in which they were added. */
export async function messagesIn(tock: CallTock, run: Run, tasks: Child[]): Promise<MessageTask[]> {
  const ids = tasks.map(({ id }) => id);
  // An id may have more digits than a number keeps.
  ids.sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
  return (await readMessages(tock, ids)).filter(isOf(run));
}

/** The messages of a run, in these states or in any. */
export async function messagesOf(
  tock: CallTock,
  run: Run,
  states?: readonly string[],
): Promise<MessageTask[]> {
  const tasks = await tasksOf(tock, run);
  const wanted = states ? tasks.filter(({ state }) => states.includes(state)) : tasks;
  return messagesIn(tock, run, wanted);
}

/** Whether a message is one of those that a delivery contains. */
export const isStep = ({ task, message }: MessageTask): boolean =>
  task.rerun_of === null && ['init', 'step'].includes(message.workflow?.kind ?? '');

/** Adds tasks of runs, all or none; returns their ids. */
export const addTasks = async (tock: CallTock, tasks: object[]): Promise<string[]> =>
  expectOk(await tock('POST', `/v1/queues/${PUBLISHED}/tasks`, { tasks })).ids;

/** Records the end of a run once, and gives its result to the run that invoked it. */
async function recordEnd(
  tock: CallTock,
  run: Run,
  state: 'success' | 'cancelled',
  body: string,
): Promise<void> {
  const { root, nonce } = run.part.invoker ?? {};
  const invoker = root === undefined ? null : await runAt(tock, root);
  // Without the nonce a forged payload could name any run.
  const isOurs = invoker !== null && invoker.part.nonce === nonce;
  const outcome = { body, ...(state === 'cancelled' && { isCanceled: true }) };
  await addTasks(tock, [
    recordIn(run, 'end', ['end'], { state }, body),
    ...(isOurs ? invokerTasks(invoker, run, outcome) : []),
  ]);
}

/** Cancels a run that goes on; returns whether it did. */
export async function cancelRun(tock: CallTock, run: Run): Promise<boolean> {
  if (await isEnded(tock, run)) return false;
  const open = () => messagesOf(tock, run, unfinished);
  if ((await open()).length === 0) return false;
  await recordEnd(tock, run, 'cancelled', '');
  // From now on no message is added.
  const ids = (await open()).map(({ task }) => task.id);
  if (ids.length > 0) expectOk(await tock('POST', '/v1/tasks/cancel', { ids }));
  return true;
}

const notFound = (name: string) => refusal(404, `workflow run ${name.slice(0, 100)} not found`);

/** The end of a run, with its result as the body; or its cancel. */
export const deleteRun: Handler = async (call, name = '') => {
  const run = await findRun(call.tock, name);
  if (!run) throw notFound(name);
  if (call.query.get('cancel') === 'true') {
    await cancelRun(call.tock, run);
    return done();
  }
  const body = new TextDecoder().decode(await call.bytes());
  await recordEnd(call.tock, run, 'success', body);
  return done();
};

/** The steps of a run that goes on. */
export const getRun: Handler = async (call, name = '') => {
  const run = await findRun(call.tock, name);
  if (!run || (await isEnded(call.tock, run))) throw notFound(name);
  const steps = (await messagesOf(call.tock, run)).filter(isStep);
  return json(
    steps.map(({ task, message }) => ({
      messageId: task.id,
      body: toBase64(bytesOfBody(message)),
      callType: 'step',
    })),
  );
};

const MAX_SEARCHES = 10;

/** The messages of runs in these states that match a query and contain a part. */
export async function search(
  call: Call,
  query: URLSearchParams,
  states: string[],
  within: object,
): Promise<MessageTask[]> {
  const places = states.map((state) => ({ queue: PUBLISHED, state }));
  const all: MessageTask[] = [];
  let cursor: string | null = null;
  for (let n = 0; n < MAX_SEARCHES; n++) {
    const page: Page = await findIds({ ...call, query }, places, MOST, [], cursor, within);
    all.push(...(await readMessages(call.tock, page.ids)));
    cursor = page.cursor ?? null;
    if (cursor === null) break;
  }
  return all;
}

/** The open runs with an unfinished message that matches the filters. */
async function openRuns(call: Call): Promise<Run[]> {
  const query = new URLSearchParams(call.query);
  const [url, isExact] = [query.get('workflowUrl'), query.get('workflowUrlExactMatch') === 'true'];
  for (const name of ['workflowUrl', 'workflowUrlExactMatch', 'count']) query.delete(name);
  const messages = await search(call, query, unfinished, { workflow: {} });
  const isWanted = ({ message }: Run) =>
    url === null || (isExact ? message.url === url : message.url.startsWith(url));
  return (await runsOf(call.tock, messages)).map(({ run }) => run).filter(isWanted);
}

/** Cancels runs by their ids or by filters. */
export const cancelRuns: Handler = async (call) => {
  const { query, tock } = call;
  const names = query.getAll('workflowRunIds');
  if (names.length > MOST) throw refusal(400, `workflowRunIds: up to ${MOST}`);
  const runs =
    names.length > 0
      ? await forEach([...new Set(names)], (name) => findRun(tock, name))
      : (await openRuns(call)).slice(0, countIn(query, MOST, MOST));
  let cancelled = 0;
  // One after the other: each reads several messages at once.
  for (const run of runs) if (run && (await cancelRun(tock, run))) cancelled++;
  return json({ cancelled });
};
