import * as s from '../../http/schemas.ts';
import { validate } from '../../http/validate.ts';
import { checkKey, expectOk } from '../calls.ts';
import { batchSize, type Call, fields, limitOf, messageOf } from './messages.ts';

const peekBody = fields({ batch_size: batchSize });
const purgeBody = fields({ refs: s.list(fields({ ref: s.upTo(1000) }), 0) });

/** POST …/messages/peek: ready tasks, the newest first. The list has only the starts of payloads, so each task is read. */
export async function peek({ tock, queue, body }: Call): Promise<object> {
  const { batch_size } = validate(peekBody, body);
  const path = `/v1/tasks?queue=${queue}&state=ready&limit=${limitOf(batch_size)}`;
  const { tasks } = expectOk(await tock('GET', path)) as { tasks: { id: string }[] };
  const messages: object[] = [];
  for (const { id } of tasks) {
    const answer = await tock('GET', `/v1/tasks/${id}`);
    // The history may have been dropped meanwhile.
    if (answer.status === 404) continue;
    const task = expectOk(answer);
    messages.push({
      ...messageOf({ ...task, headers: task.options?.headers }),
      attempts: task.attempt - 1,
      ref: id,
    });
  }
  return { messages };
}

/** The warning about a purge of a task that the cancel found in this state; undefined if it is cancelled. */
function warningOf(state: string | undefined): string | undefined {
  if (state === 'cancelled') return undefined;
  if (state === undefined) return 'There is no message with this ref.';
  if (state === 'running') return 'A consumer has pulled the message. It is not delivered again.';
  return `The message has ended: it is ${state}.`;
}

/** POST …/messages/purge: cancels tasks. A ref is a task's id. */
export async function purge({ tock, body }: Call): Promise<object> {
  const { refs } = validate(purgeBody, body);
  const sent = new Set(refs.map(({ ref }) => ref));
  const ids = [...sent].filter((ref) => s.id.safeParse(ref).success);
  const states = new Map<string, string>();
  if (ids.length === 0) await checkKey(tock);
  else {
    const { tasks } = expectOk(await tock('POST', '/v1/tasks/cancel', { ids }));
    for (const { id, state } of tasks) states.set(id, state);
  }
  const warnings = [...sent].flatMap((ref) => {
    const warning = warningOf(states.get(ref));
    return warning === undefined ? [] : [[ref, warning] as const];
  });
  return { errors: [], warnings: Object.fromEntries(warnings) };
}
