import { refusal } from '../../http/problem.ts';
import { type Call, expectOk, type Handler, json } from './call.ts';
import { countIn, findIds, idsIn, readMessage } from './search.ts';
import { viewOf } from './view.ts';

const noMessage = (id: string) => refusal(404, `message ${id.slice(0, 100)} not found`);
/** A bulk call cancels at most this many messages. */
const MOST = 1000;
const unfinished = ['waiting', 'ready', 'running'];

export const getMessage: Handler = async ({ tock }, id = '') => {
  const message = await readMessage(tock, id);
  if (!message) throw noMessage(id);
  return json(await viewOf(message));
};

async function cancel({ tock }: Call, ids: readonly string[]): Promise<number> {
  const known = ids.filter((id) => /^[1-9]\d{0,17}$/.test(id));
  if (known.length === 0) return 0;
  const { tasks } = expectOk(await tock('POST', '/v1/tasks/cancel', { ids: known }));
  return tasks.filter(({ changed }: { changed: boolean }) => changed).length;
}

export const cancelMessage: Handler = async (call, id = '') => {
  if ((await cancel(call, [id])) === 0) throw noMessage(id);
  return json({ cancelled: 1 });
};

export const cancelMessages: Handler = async (call) => {
  const ids = idsIn(call.query, 'messageIds');
  if (ids) return json({ cancelled: await cancel(call, ids) });
  const page = await findIds(call, unfinished, countIn(call.query, MOST, MOST));
  return json({ cancelled: await cancel(call, page.ids) });
};
