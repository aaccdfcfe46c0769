import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from './service.ts';

let tock: Service;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

test('the doctor says what is wrong and what to do, and nothing of it when it is mended', async () => {
  const named = async () => {
    const { status, body } = await tock.send('GET /v1/doctor');
    expect(status).toBe(200);
    return body.findings.map(({ finding }: { finding: string }) => finding);
  };
  const before = await named();
  await tock.owner.query('alter sequence tock.positions cache 50');
  const { body } = await tock.send('GET /v1/doctor');
  expect(body.findings.length).toBeGreaterThan(before.length);
  for (const found of body.findings) {
    expect(found).toEqual({
      finding: expect.any(String),
      severity: expect.any(String),
      detail: expect.any(String),
      hint: expect.any(String),
    });
  }
  await tock.owner.query('alter sequence tock.positions cache 1');
  expect(await named()).toEqual(before);
});
