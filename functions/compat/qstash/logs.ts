import { type Call, type Handler, json } from './call.ts';
import { countIn, findIds, idsIn, type MessageTask, placesOf, readMessages } from './search.ts';
import { bodyInBase64, contentOf, time } from './view.ts';

/** The count is of messages, each with all its events. */
const COUNT = 20;
const MAX_COUNT = 100;

type Event = { time: number; state: string; error?: string; nextDeliveryTime?: number };

/** What has happened to a message, newest first, as its runs tell. */
function eventsOf({ task }: MessageTask): Event[] {
  const { runs, state } = task;
  const events: Event[] = [{ time: time(task.created_at), state: 'CREATED' }];
  for (const [n, run] of runs.entries()) {
    if (run.started_at) events.push({ time: time(run.started_at), state: 'ACTIVE' });
    if (!run.ended_at) continue;
    const isLast = n === runs.length - 1 && state !== 'waiting';
    const at = time(run.ended_at);
    const error = run.error?.message;
    if (run.state === 'done') events.push({ time: at, state: 'DELIVERED' });
    else if (run.state === 'failed' || run.state === 'lost')
      events.push({ time: at, state: isLast ? 'FAILED' : 'RETRY', ...(error && { error }) });
  }
  const last = events.at(-1);
  if (last?.state === 'RETRY' && task.run_at) last.nextDeliveryTime = time(task.run_at);
  if (state === 'cancelled' && task.ended_at)
    events.push({ time: time(task.ended_at), state: 'CANCELLED' });
  return events.reverse();
}

async function describe(of: MessageTask) {
  const { task, message } = of;
  const { header, body, bodyBase64, label, labels, flowControlKey } = await contentOf(message);
  const plain = Object.entries(header).map(([name, all]) => [name, all.join(', ')]);
  const all = {
    messageId: task.id,
    url: message.url,
    topicName: message.topic,
    endpointName: message.endpoint,
    scheduleId: message.schedule,
    header: Object.fromEntries(plain),
    body: bodyInBase64({ ...(body && { body }), ...(bodyBase64 && { bodyBase64 }) }),
    label,
    labels,
    flowControlKey,
  };
  return eventsOf(of).map((event) => ({ ...event, ...all }));
}

function isWanted({ query }: Call) {
  const state = query.get('state')?.replace('CANCELED', 'CANCELLED');
  const wanted = state === 'IN_PROGRESS' ? ['ACTIVE', 'RETRY', 'ERROR'] : [state];
  return (event: Event) => !state || wanted.includes(event.state);
}

export const listEvents: Handler = async (call) => {
  const { query, tock } = call;
  const ids = await idsIn(call, 'messageIds', MAX_COUNT);
  const page: { ids: string[]; cursor?: string } = ids
    ? { ids }
    : await findIds(call, await placesOf(call), countIn(query, COUNT, MAX_COUNT), ['state']);
  const messages = await readMessages(tock, page.ids);
  const events = (await Promise.all(messages.map(describe))).flat().filter(isWanted(call));
  events.sort((a, b) => b.time - a.time);
  return json({ events, logs: events, cursor: page.cursor });
};
