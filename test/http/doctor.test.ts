import { expect, test, vi } from 'vitest';
import { clocks, versions } from '../../cli/diagnosis.ts';
import { fileService } from './file_service.ts';

const tock = fileService();

test('the doctor reports a problem with a hint, and not any more once it is repaired', async () => {
  const named = async () => {
    const { status, body } = await tock.send('GET /v1/doctor');
    expect(status).toBe(200);
    return body.findings.map(({ finding }: { finding: string }) => finding);
  };
  const before = await named();
  await tock.owner.query('alter sequence tock.positions cache 50');
  const { body } = await tock.send('GET /v1/doctor');
  expect(body.findings.length).toBeGreaterThan(before.length);
  for (const finding of body.findings) {
    expect(finding).toEqual({
      finding: expect.any(String),
      severity: expect.any(String),
      detail: expect.any(String),
      hint: expect.any(String),
      page: expect.stringMatching(/^\/findings\/[a-z_-]+$/),
    });
  }
  await tock.owner.query('alter sequence tock.positions cache 1');
  expect(await named()).toEqual(before);
});

test("a difference of the Worker's clock is found, and a slow call is none", async () => {
  const findings = async (seconds: number) => {
    const real = Date.now;
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => real() + seconds * 1000);
    const { body } = await tock.send('GET /v1/doctor');
    clock.mockRestore();
    const clocks = ({ finding }: { finding: string }) => finding === 'the clocks differ';
    return body.findings.filter(clocks).map(({ detail }: { detail: string }) => detail);
  };
  expect(await findings(0)).toEqual([]);
  expect(await findings(3600)).toEqual([
    expect.stringMatching(/^the clock of the Worker is 3[56]\d\d s ahead of the database's$/),
  ]);
  expect(await findings(-3600)).toEqual([
    expect.stringMatching(/is 3[56]\d\d s behind the database's$/),
  ]);
});

test("a difference of the command line's clock is found", async () => {
  const start = Date.now();
  expect(await clocks(tock.owner)).toEqual([]);
  expect(await clocks(tock.owner, () => Date.now() - 20_000)).toMatchObject([
    { finding: 'the clocks differ', detail: expect.stringContaining('of this machine') },
  ]);
  // During a call of an hour the database may have read its clock at any time, so no difference is certain.
  let call = 0;
  expect(await clocks(tock.owner, () => start + 1_800_000 * (call++ === 0 ? -1 : 1))).toEqual([]);
});

test('a database that lacks a migration is found, and one of a newer Tock or from before the baseline', async () => {
  expect(await versions(tock.owner)).toEqual([]);
  await tock.owner.query(
    `insert into tock.migrations (number, name, checksum) values (9999, 'x', '')`,
  );
  expect(await versions(tock.owner)).toMatchObject([
    { finding: 'the database is of a newer Tock' },
  ]);
  await tock.owner.query('delete from tock.migrations where number in (3, 9999)');
  expect(await versions(tock.owner)).toMatchObject([
    {
      finding: 'migrations are not applied',
      detail: '1, the first of them migrations/0003_log.sql',
    },
  ]);
  await tock.owner.query(
    "update tock.migrations set name = 'migrations/0001_queues.sql' where number = 1",
  );
  expect(await versions(tock.owner)).toMatchObject([
    { finding: 'the database is older than the baseline' },
  ]);
  const edge = await tock.database.connect(tock.database.edgeUrl);
  expect(await versions(edge)).toEqual([]);
});
