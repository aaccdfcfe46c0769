import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { value } from '../sql/verbs.ts';
import { conditionTimeout } from '../timeout.ts';
import { folder, type Process, startProcess, tock, useExample } from './copy.ts';

type Span = {
  name: string;
  kind: number;
  trace: string;
  id: string;
  parent?: string;
  status: number;
  attributes: Record<string, unknown>;
  events: [string, string][];
};

useExample('opentelemetry', 'orders', ['@opentelemetry/api']);
let server: Process;
let shop = '';
let warehouse: Server;
const heard: IncomingHttpHeaders[] = [];

const run = (program: string, env: NodeJS.ProcessEnv) => {
  const argv = [process.execPath, '--import', join(import.meta.dirname, 'spans.mjs'), program];
  return startProcess(argv, folder, { ...tock.env, ...env });
};
const spansOf = (out: string): Span[] =>
  (out.match(/^\{.*$/gm) ?? []).map((line) => JSON.parse(line));

beforeAll(async () => {
  tock.env.TOCK_KEY = await value(
    tock.owner,
    "select key from tock.create_key('both', '{enqueue,claim}')",
  );
  warehouse = createServer((request, response) => {
    heard.push(request.headers);
    request.resume();
    response.writeHead(heard.length === 1 ? 503 : 200).end();
  });
  await new Promise<void>((resolve) => warehouse.listen(0, '127.0.0.1', resolve));
  server = run('server.mjs', { PORT: '0' });
  const begun = () => expect(server.out()).toMatch(/^on \d+/);
  await vi.waitFor(begun, { timeout: conditionTimeout });
  shop = `http://127.0.0.1:${/\d+/.exec(server.out())?.[0]}`;
});
afterAll(async () => {
  server.child.kill('SIGKILL');
  await server.ended;
  warehouse.close();
});

/** Runs the worker until the queue is empty. Returns its spans. */
async function worked(): Promise<Span[]> {
  const WAREHOUSE_URL = `http://127.0.0.1:${(warehouse.address() as AddressInfo).port}`;
  const { code, out } = await run('worker.mjs', { WAREHOUSE_URL, TOCK_UNTIL: 'empty' }).ended;
  expect(code).toBe(0);
  return spansOf(out);
}

test('one trace contains the request, the enqueue, each attempt and a rerun', async () => {
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  const spanId = '00f067aa0ba902b7';
  const headers = { traceparent: `00-${trace}-${spanId}-01`, baggage: 'shop=7' };
  const answer = await fetch(shop, { method: 'POST', headers, body: '{"order": 1}' });
  const id = await answer.text();
  expect(answer.status).toBe(202);
  await expect.poll(() => spansOf(server.out())).toHaveLength(2);
  const [sent, request] = spansOf(server.out());
  expect(request).toMatchObject({ trace, parent: spanId, kind: SpanKind.SERVER });
  const operation = (type: string, message: string) => ({
    'messaging.system': 'tock',
    'messaging.operation.type': type,
    'messaging.destination.name': 'orders',
    'messaging.message.id': message,
  });
  expect(sent).toMatchObject({
    name: 'send orders',
    kind: SpanKind.PRODUCER,
    trace,
    parent: request?.id,
    attributes: operation('send', id),
  });

  const first = await worked();
  await tock.owner.query("update tock.waiting set due_at = now() - interval '1 second'");
  await tock.owner.query('select tock.promote()');
  const second = await worked();
  const rerun = 'select rerun_id::text from tock.rerun(p_ids => array[$1::bigint])';
  const again = await value<string>(tock.owner, rerun, [id]);
  const third = await worked();

  const process = (message: string, attempt: number) => ({
    name: 'process orders',
    kind: SpanKind.CONSUMER,
    trace,
    parent: sent?.id,
    attributes: { ...operation('process', message), 'tock.attempt': attempt },
  });
  const events = [['exception', 'the warehouse answers 503']];
  expect(first).toMatchObject([{ ...process(id, 1), status: SpanStatusCode.ERROR, events }]);
  expect(first[0]?.attributes).toHaveProperty(['error.type'], 'Error');
  expect(second).toMatchObject([{ ...process(id, 2), status: SpanStatusCode.UNSET, events: [] }]);
  expect(third).toMatchObject([process(again, 1)]);
  const spans = [...first, ...second, ...third];
  expect(new Set(spans.map((span) => span.id)).size).toBe(3);
  expect(heard.map(({ traceparent, baggage }) => [traceparent, baggage])).toEqual(
    spans.map((span) => [`00-${trace}-${span.id}-01`, 'shop=7']),
  );
});
