import { expect, test } from 'vitest';
import {
  ageClosedSegments,
  dropExpiredSegments,
  endSegment,
  segmentNumbers,
  startNextSegment,
} from '../../kernel/segment/segments.ts';
import { invariantsAfterEach } from '../../kernel/sessions.ts';
import { client, databasePerTest } from '../../test_database.ts';
import { complete, value } from '../../verbs.ts';
import { putQueue } from '../concurrency/concurrency_keys.ts';
import { begun, next, save, stepsOf, wake } from './steps.ts';

databasePerTest();
invariantsAfterEach();

test('steps stay as long as the last run of their task, also if its segment is kept for longer', async () => {
  await putQueue(client, 'kept', { retention_seconds: 90 * 86_400 });
  const run = await begun();
  await save(run, { name: 'a', result: 1 });
  await save(run, { name: 'nap', sleep_seconds: 60 });
  await startNextSegment(client);
  await wake();
  await complete(client, (await next()).lease);
  await complete(client, (await begun({}, 'kept')).lease);
  // The first drop moves the steps to segment 3, whose drop moves them again.
  for (const left of [
    [2, 3],
    [2, 4],
  ]) {
    await endSegment(client, '60 days');
    await dropExpiredSegments(client);
    expect((await segmentNumbers(client)).slice(0, 2)).toEqual(left);
    expect(await stepsOf(run.id)).toEqual({ a: ['done', 1], nap: ['done', null] });
  }
  await ageClosedSegments(client, '1 year');
  await dropExpiredSegments(client);
  await endSegment(client);
  await dropExpiredSegments(client);
  expect(await value(client, 'select count(*)::integer from tock.steps')).toBe(0);
});
