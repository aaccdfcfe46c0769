import { refusal } from '../../http/problem.ts';
import { expectOk } from '../calls.ts';
import { type Call, done, forEach, type Handler, json, unlessMissing } from './call.ts';
import { countIn, findIds, idsIn, type MessageTask, placesOf, readMessages } from './search.ts';
import { bodyInBase64, time, viewOf } from './view.ts';

const COUNT = 100;

const notFound = (id: string) =>
  refusal(404, `message ${id.slice(0, 100)} not found in the dead letter queue`);
/** A dead letter is a dead task that was neither retried nor erased. */
const isDead = ({ task }: MessageTask) => task.state === 'dead' && task.reruns.length === 0;

/** The dead letters of the ids or filters in a query: of workflow runs, or all others. */
export async function deadLetters(
  call: Call,
  ofRuns = call.query.get('source') === 'workflow',
): Promise<{ letters: MessageTask[]; cursor?: string }> {
  const { query, tock } = call;
  const ids = await idsIn(call, 'dlqIds', COUNT);
  const count = countIn(query, COUNT, COUNT);
  const further = ['responseStatus', 'source'];
  const within = ofRuns ? { workflow: {} } : {};
  const page = ids
    ? { ids }
    : await findIds(call, await placesOf(call, 'dead'), count, further, undefined, within);
  const status = query.get('responseStatus');
  // A failed call of a failure function is retried by its own route.
  const isWanted = ({ message: { workflow } }: MessageTask) =>
    ofRuns ? workflow !== undefined && workflow.kind !== 'failure' : ids !== null || !workflow;
  const all = (await readMessages(tock, page.ids)).filter(isDead).filter(isWanted);
  const letters =
    status === null ? all : all.filter(({ task }) => String(task.error?.status ?? 0) === status);
  return { ...page, letters };
}

export async function letterOf({ tock }: Call, id: string): Promise<MessageTask> {
  const [letter] = (await readMessages(tock, [id])).filter(isDead);
  if (!letter) throw notFound(id);
  return letter;
}

async function letterView(letter: MessageTask) {
  const { id, error, created_at } = letter.task;
  const { workflow } = letter.message;
  const body = typeof error?.body === 'string' ? error.body : undefined;
  return {
    ...(await viewOf(letter)),
    dlqId: id,
    responseStatus: error?.status ?? 0,
    responseBody: body ?? error?.message,
    ...(workflow && {
      workflowRunId: workflow.run,
      workflowCreatedAt: workflow.created_at ?? time(created_at),
      workflowUrl: letter.message.url,
    }),
    responseBodyBase64: bodyInBase64({ body: body ?? error?.message }),
  };
}

export const getLetter: Handler = async (call, id = '') =>
  json(await letterView(await letterOf(call, id)));

export const listLetters: Handler = async (call) => {
  const { letters, cursor } = await deadLetters(call);
  return json({ messages: await Promise.all(letters.map(letterView)), cursor });
};

/** Erases the message for good: Tock keeps the history of its task, without payload and error. */
async function erase({ tock }: Call, letters: readonly MessageTask[]): Promise<void> {
  await forEach(letters, async ({ task }) =>
    unlessMissing(await tock('DELETE', `/v1/tasks/${task.id}/payload`)),
  );
}

export const deleteLetter: Handler = async (call, id = '') => {
  await erase(call, [await letterOf(call, id)]);
  return done();
};

const deleteAll =
  (ofRuns?: boolean): Handler =>
  async (call) => {
    const { letters, cursor } = await deadLetters(call, ofRuns);
    await erase(call, letters);
    return json({ deleted: letters.length, cursor });
  };
export const deleteLetters = deleteAll();
export const deleteRunLetters = deleteAll(true);

/** The ids of the new messages. */
export async function retry(
  { tock }: Call,
  letters: readonly MessageTask[],
): Promise<{ messageId: string }[]> {
  if (letters.length === 0) return [];
  const ids = letters.map(({ task }) => task.id);
  const { tasks } = expectOk(await tock('POST', '/v1/tasks/rerun', { ids, again: false }));
  return tasks.flatMap(({ rerun_id }: { rerun_id: string | null }) =>
    rerun_id === null ? [] : { messageId: rerun_id },
  );
}

export const retryLetter: Handler = async (call, id = '') => {
  const [response] = await retry(call, [await letterOf(call, id)]);
  if (!response) throw notFound(id);
  return json(response, 201);
};

export const retryLetters: Handler = async (call) => {
  const { letters, cursor } = await deadLetters(call);
  return json({ responses: await retry(call, letters), cursor }, 201);
};
