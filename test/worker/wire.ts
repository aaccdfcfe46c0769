import { connect } from 'node:net';
import type pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import type { Database } from '../database.ts';
import { rowCounts } from '../http/service.ts';
import { value } from '../sql/verbs.ts';
import type { Served } from './workerd.ts';

type At = { served: Served; database: Database };

let at: At;
let owner: pg.Client;
let head: string;

const post = (length: number | string, more = '', path = '/v1/queues/q/tasks') =>
  `POST ${path} HTTP/1.1\r\n${head}${more}${length === '' ? '' : `Content-Length: ${length}\r\n`}\r\n`;
const chunked = (body: string) => `${post('', 'Transfer-Encoding: chunked\r\n')}${body}`;
const task = '{"payload":1}';

/** Sends bytes. Resolves with the statuses of the answers when `wanted` have come, or when the connection has ended. */
function sent(bytes: string | Buffer, wanted = 1, end = false): Promise<number[]> {
  return new Promise((resolve) => {
    let text = '';
    const statuses = () =>
      [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
    const socket = connect(at.served.port, '127.0.0.1');
    const over = () => {
      socket.destroy();
      resolve(statuses());
    };
    socket.on('data', (data) => {
      text += data.toString('latin1');
      if (statuses().length >= wanted) over();
    });
    socket.on('close', over);
    socket.on('error', over);
    socket.write(bytes);
    if (end) socket.end();
  });
}

const taken = async () => (await rowCounts(owner)).runs;

const lies: [what: string, bytes: () => string | Buffer, end?: boolean][] = [
  ['a body shorter than it says', () => post(100) + task, true],
  ['a body longer than it says', () => post(5) + task],
  ['two lengths', () => post(5, `Content-Length: ${task.length}\r\n`) + task],
  ['a length and chunks', () => `${post(4, 'Transfer-Encoding: chunked\r\n')}0\r\n\r\n`],
  ['a length of 20 digits', () => post('18446744073709551617') + task],
  ['a length of 1 GB', () => post(1_000_000_000) + task],
  ['chunks without end', () => chunked(`ffffffffffffffff\r\n${task}`), true],
  ['6 MB in chunks', () => chunked(`5b8d80\r\n${'x'.repeat(6_000_000)}\r\n0\r\n\r\n`)],
  ['a NUL in a header', () => post(task.length, 'X-A: a\0b\r\n') + task],
  ['a header folded over two lines', () => post(5, 'X-A: a\r\n b\r\n') + task],
  ['5,000 headers', () => post(5, 'X-A: a\r\n'.repeat(5000)) + task],
  ['a path of 200 kB', () => post(5, '', `/v1/${'a'.repeat(200_000)}`) + task],
  [
    'bytes that are no UTF-8 in the path',
    () => Buffer.from(`${post(2, '', '/v1/queues/\xff\xfe/tasks')}{}`, 'latin1'),
  ],
  ['a NUL in the path', () => `${post(2, '', '/v1/queues/a%00b/tasks')}{}`],
  ['a broken escape in the query', () => `${post(2, '', '/v1/queues/q/tasks?a=%')}{}`],
  ['TRACE', () => `TRACE / HTTP/1.1\r\n${head}\r\n`],
  ['OPTIONS *', () => `OPTIONS * HTTP/1.1\r\n${head}\r\n`],
  ['HTTP/2', () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', true],
  ['HTTP/0.9', () => 'GET /\r\n\r\n', true],
  ['no HTTP at all', () => Buffer.from([0x16, 3, 1, 0, 0xff, 0, 0xff, 0xfe]), true],
];

/**
 * Tests with bytes that no HTTP library would send. The Worker has no pooler, so each of its connections is a session
 * of the database.
 */
export function testRawRequests(place: () => At): void {
  beforeAll(async () => {
    at = place();
    owner = await at.database.connect();
    const key = await value(owner, "select key from tock.create_key('w', '{enqueue,claim}')");
    head = `Host: tock\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
    expect((await fetch(`${at.served.url}/v1/health`)).status).toBe(200);
  });

  test('pipelined requests on one connection are answered in order, also after a refusal', async () => {
    const before = (await taken()) ?? 0;
    const request = post(task.length) + task;
    const refused = `${post(2)}[]`;
    expect(await sent(request + refused + request, 3)).toEqual([201, 422, 201]);
    expect(await sent(chunked(`d\r\n${task}\r\n0\r\n\r\n`))).toEqual([201]);
    expect(await taken()).toBe(before + 3);
  });

  test.each(lies)(
    '%s: the request is refused or the connection ends, and no task is added',
    async (_what, bytes, end) => {
      const before = await taken();
      const statuses = await sent(bytes(), 1, end);
      expect(
        statuses.filter((status) => status < 400 || [500, 502, 503, 504].includes(status)),
      ).toEqual([]);
      expect(await taken()).toBe(before);
      expect(await sent(post(task.length) + task)).toEqual([201]);
    },
  );

  test('slow clients hold no database connection, and other clients are served', async () => {
    const sockets = Array.from({ length: 30 }, () => {
      const socket = connect(at.served.port, '127.0.0.1').on('error', () => {});
      socket.write(`${post(1000)}{"pay`);
      return socket;
    });
    try {
      const edge = `select count(*)::int from pg_stat_activity
        where datname = current_database() and usename = 'tock_edge'`;
      const open = () => value<number>(owner, edge);
      expect(await sent(post(task.length) + task)).toEqual([201]);
      for (const socket of sockets) socket.write('l');
      expect(await sent(post(task.length) + task)).toEqual([201]);
      await expect.poll(open).toBe(0);
      expect(sockets.filter((socket) => socket.destroyed)).toEqual([]);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });
}
