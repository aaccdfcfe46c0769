// Tock's HTTP server on plain Node: DATABASE_URL=postgres://tock_edge:…@pooler/… PORT=8787 node server.mjs
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { createWorker } from 'tock/worker';

// Add your own consumers here, as in a Worker: createWorker({ consumers }).
const tock = createWorker();
const { DATABASE_URL, PORT = '8787', HOST = '127.0.0.1' } = process.env;
if (!DATABASE_URL) {
  console.error('Set DATABASE_URL to a URL with the role tock_edge.');
  process.exit(2);
}

const log = (error) => console.error(error);

// The work that must end before this process does: answers, and what continues after an answer, such as a push.
const under_way = new Set();
function waitUntil(promise) {
  const pending = Promise.resolve(promise)
    .catch(log)
    .finally(() => under_way.delete(pending));
  under_way.add(pending);
}

/** Replaces a Worker's Durable Object: an in-memory timer for the next due time. */
function alarmIn(env) {
  const kept = new Map();
  let timer;
  let at = null;
  const ring = () => {
    at = null;
    waitUntil(alarm.alarm());
  };
  const set = (time) => {
    clearTimeout(timer);
    at = time;
    // setTimeout() would fire at once for a longer time. An early alarm does no harm.
    if (time !== null)
      timer = setTimeout(ring, Math.min(Math.max(0, time - Date.now()), 2 ** 31 - 1));
  };
  const storage = {
    getAlarm: async () => at,
    setAlarm: async (time) => set(time),
    deleteAlarm: async () => set(null),
    get: async (key) => kept.get(key),
    put: async (key, value) => void kept.set(key, value),
    delete: async (key) => kept.delete(key),
  };
  const alarm = new tock.Alarm({ storage }, env);
  const object = { fetch: (url, init) => alarm.fetch(new Request(url, init)) };
  return {
    namespace: { idFromName: (name) => name, get: () => object },
    ring,
    stop: () => set(null),
  };
}

const env = { ...process.env };
// Another process may have enqueued: waiting claims look once a second.
env.TOCK_IDLE_POLL_SECONDS ??= '1';
const { namespace, ring, stop } = alarmIn(env);
env.ALARM = namespace;

function requestOf(incoming, signal) {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) headers.set(name, String(value));
  const { method, url } = incoming;
  // Readable.toWeb() may throw an uncatchable error when a body is left unread: nodejs/node#64529.
  const body = ['GET', 'HEAD'].includes(method) ? undefined : ReadableStream.from(incoming);
  return new Request(`http://${HOST}:${PORT}${url}`, {
    method,
    headers,
    body,
    signal,
    duplex: 'half',
  });
}

/**
 * A client whose connection closes while it sends may not see the answer, so the rest of a body is read and dropped
 * for up to five seconds.
 */
async function readOn(incoming) {
  incoming.removeAllListeners('readable');
  incoming.resume();
  await finished(incoming, { signal: AbortSignal.timeout(5000) }).catch(() => {});
}

async function answer(incoming, outgoing) {
  // This signal tells a waiting claim that its client has disconnected.
  const gone = new AbortController();
  outgoing.on('close', () => gone.abort());
  try {
    const request = requestOf(incoming, gone.signal);
    const response = await tock.fetch(request, env, { waitUntil, passThroughOnException() {} });
    const headers = Object.fromEntries(response.headers);
    // During a shutdown a client must not keep its connection, or this process would not end. After a body that was not
    // read to its end, the connection cannot carry another request.
    if (!server.listening || !incoming.complete) headers.connection = 'close';
    outgoing.writeHead(response.status, headers);
    outgoing.flushHeaders();
    if (response.body) await pipeline(Readable.fromWeb(response.body), outgoing, { end: false });
    if (!incoming.complete) await readOn(incoming);
    outgoing.end();
  } catch (error) {
    if (!gone.signal.aborted) log(error);
    outgoing.destroy();
  }
}

const server = createServer((incoming, outgoing) => waitUntil(answer(incoming, outgoing)));

server.once('error', ({ message }) => {
  console.error(`${message}. Set another PORT or HOST, or stop the process that listens there.`);
  process.exit(1);
});
server.listen(Number(PORT), HOST, () => {
  console.log(`Tock listens on http://${HOST}:${server.address().port}`);
  // Runs work that became due while no server ran.
  ring();
});

async function end() {
  stop();
  server.close();
  while (under_way.size > 0) await Promise.all(under_way);
  stop();
  server.closeAllConnections();
}
for (const name of ['SIGTERM', 'SIGINT']) process.once(name, end);
