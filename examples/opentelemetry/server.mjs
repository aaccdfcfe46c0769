// Accepts orders over HTTP, and enqueues each in the trace of its request.
import { createServer } from 'node:http';
import { SpanKind } from '@opentelemetry/api';
import { createTock } from 'tock/client';
import { contextOf, enqueue, headers, spanned } from './tracing.mjs';

const { TOCK_URL = '', TOCK_KEY = '', PORT = '8080' } = process.env;
const tock = createTock({ url: TOCK_URL, key: TOCK_KEY, headers });

async function ordered(request) {
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  return enqueue(tock, 'orders', JSON.parse(body));
}

const server = createServer(async (request, response) => {
  const parent = contextOf(request.headers);
  try {
    const options = { kind: SpanKind.SERVER };
    const id = await spanned('POST /orders', options, parent, () => ordered(request));
    response.writeHead(202).end(id);
  } catch (error) {
    console.error(error);
    response.writeHead(500).end();
  }
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`on ${server.address().port}`));
process.on('SIGTERM', () => server.close());
