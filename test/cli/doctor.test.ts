import type pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { tock } from './tock.ts';
import { transports } from './transports.ts';

const { connect, env, http } = transports('read');
let client: pg.Client;
beforeAll(async () => {
  client = await connect();
  await client.query('select tock.tick()');
});

const ask = (env: NodeJS.ProcessEnv, ...args: string[]) =>
  tock(['doctor', ...args], { env: { POOLED_DATABASE_URL: undefined, ...env } });
const named = (out: string) =>
  JSON.parse(out).findings.map(({ finding }: { finding: string }) => finding);

test('a note alone gives exit code 0, and a warning gives 1', async () => {
  await client.query(`update tock.migrations set applied_at = now() - interval '8 days'`);
  await client.query(`update tock.maintenance_jobs set last_ok_at = now() - interval '7 days'`);
  const noted = await ask(env());
  expect(noted).toMatchObject({ code: 0, err: '' });
  expect(noted.out).toMatch(
    /^note: maintenance jobs are late\n {2}[\s\S]*\n {2}more: tock findings maintenance-jobs-are-late\nAll is well\.\n$/,
  );
  await client.query('alter sequence tock.positions cache 50');
  const ill = await ask(env());
  expect(ill).toMatchObject({
    code: 1,
    err: '1 problem found.\nEach finding above says what to do.\n',
  });
  expect(ill.out).not.toContain('All is well');
  await client.query('alter sequence tock.positions cache 1');
  await client.query(
    'update tock.maintenance_jobs set last_ok_at = now(), last_started_at = now()',
  );
});

test('an unreachable pooler is one finding, and the other checks still run', async () => {
  await client.query('alter sequence tock.positions cache 50');
  const lost = 'postgres://tock_edge:secret@127.0.0.1:1/tock';
  const { code, out } = await ask({ ...env(), POOLED_DATABASE_URL: lost }, '--json');
  expect(code).toBe(1);
  expect(named(out)).toEqual(['the sequence is cached', 'a check of the doctor failed']);
  expect(out).toContain('the pooler: ');
  expect(out).not.toContain('secret');
  await client.query('alter sequence tock.positions cache 1');
});

test("with a server the checks from this machine run too, if the database's URL is known", async () => {
  await client.query(`insert into tock.migrations (number, name, checksum) values (9999, 'x', '')`);
  expect(named((await ask(http(), '--json')).out)).toEqual([]);
  expect(named((await ask({ ...http(), ...env() }, '--json')).out)).toEqual([
    'the database is of a newer Tock',
  ]);
  await client.query('delete from tock.migrations where number = 9999');
});
