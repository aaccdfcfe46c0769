import { afterEach, expect, test, vi } from 'vitest';
import { chooseDriver, connect } from '../../functions/database/connect.ts';
import { connectHyperdrive } from '../../functions/database/hyperdrive.ts';
import { connectNeonHttp } from '../../functions/database/neon_http.ts';
import { connectNeonWs } from '../../functions/database/neon_ws.ts';
import { connectPg } from '../../functions/database/pg.ts';
import type { Bindings } from '../../functions/env.ts';
import { createApp } from '../../functions/http/app.ts';

const log = vi.spyOn(console, 'error').mockImplementation(() => {});
afterEach(() => log.mockClear());

const elsewhere = 'postgres://u:p@db.example.com:6432/tock';
const neon = 'postgresql://u:p@ep-x-1-pooler.eu-central-1.aws.neon.tech/tock?sslmode=require';

test("the driver is Hyperdrive if it is bound, else TOCK_DRIVER's, else chosen by the host", () => {
  const HYPERDRIVE = { connectionString: elsewhere };
  expect(chooseDriver({ HYPERDRIVE, DATABASE_URL: neon, TOCK_DRIVER: 'pg' })).toBe(
    connectHyperdrive,
  );
  const table: [Bindings, unknown][] = [
    [{ DATABASE_URL: elsewhere }, connectPg],
    [{ DATABASE_URL: neon }, connectNeonHttp],
    [{ DATABASE_URL: neon, TOCK_DRIVER: '' }, connectNeonHttp],
    [{ DATABASE_URL: neon.replace('neon.tech', 'neon.tech.example.com') }, connectPg],
    [{ DATABASE_URL: 'postgres://u:p@localhost/ep.neon.tech' }, connectPg],
    [{ DATABASE_URL: neon, TOCK_DRIVER: 'pg' }, connectPg],
    [{ DATABASE_URL: elsewhere, TOCK_DRIVER: 'neon-http' }, connectNeonHttp],
    [{ DATABASE_URL: elsewhere, TOCK_DRIVER: 'neon-ws' }, connectNeonWs],
  ];
  for (const [env, way] of table) expect(chooseDriver(env), JSON.stringify(env)).toBe(way);
});

const secret = 'postgres://tock_edge:s3cret^x@ho st/tock';

test.each<[Bindings, RegExp, RegExp]>([
  [{}, /DATABASE_URL is not set/, /^Set it with: wrangler secret put DATABASE_URL/],
  [{ DATABASE_URL: neon, TOCK_DRIVER: 'toString' }, /TOCK_DRIVER/, /pg, neon-http, neon-ws/],
  [{ DATABASE_URL: neon, TOCK_DRIVER: secret }, /TOCK_DRIVER/, /or leave it out/],
  [{ DATABASE_URL: secret, TOCK_DRIVER: 'neon-http' }, /DATABASE_URL is not a valid URL/, /escape/],
  [{ DATABASE_URL: secret, TOCK_DRIVER: 'neon-ws' }, /DATABASE_URL is not a valid URL/, /escape/],
  [{ DATABASE_URL: neon, TOCK_NEON_PROXY: 'localhost:4444' }, /TOCK_NEON_PROXY/, /https:/],
  [{ DATABASE_URL: `${secret}?sslmode=disable` }, /unreachable or overloaded/, /^Repeat/],
  [{ DATABASE_URL: elsewhere }, /connects to another host without TLS/, /^Add sslmode=verify-full/],
  [{ DATABASE_URL: `${elsewhere}?sslmode=` }, /without TLS/, /^Add sslmode=verify-full/],
])('invalid bindings give a 503 with a hint and without secrets: %#', async (env, detail, hint) => {
  const headers = { authorization: 'Bearer tock_1' };
  const reply = await createApp(connect).request('/v1/queues', { headers }, env);
  expect(reply.status).toBe(503);
  expect(await reply.json()).toMatchObject({
    type: '/errors/TK503',
    detail: expect.stringMatching(detail),
    hint: expect.stringMatching(hint),
  });
  expect(log).toHaveBeenCalledOnce();
  expect(log.mock.calls.join()).not.toContain('s3cret');
});
