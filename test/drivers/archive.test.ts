import { beforeAll, expect, test } from 'vitest';
import { enableArchive, runArchive } from '../../functions/archive/step.ts';
import { connect } from '../../functions/database/connect.ts';
import { createApp } from '../../functions/http/app.ts';
import { MemoryBucket } from '../archive/bucket.ts';
import { passAllRetentions } from '../archive/two_days.ts';
import {
  closeSegments,
  dropExpiredSegments,
  startNextSegment,
} from '../sql/kernel/segment/segments.ts';
import { claim, complete, enqueue, leaseOf } from '../sql/verbs.ts';
import { driverNames, made, useDriverDatabase } from './drivers.ts';

useDriverDatabase();
beforeAll(async () => {
  await made.owner.query("select tock.put_queue('*', $1)", [{ max_payload_bytes: 4194304 }]);
});

test.each(driverNames)(
  'the largest possible task, all backslashes, is archived with %s',
  async (way) => {
    const { owner } = made;
    const large = '\\'.repeat(2_097_000);
    const [id = ''] = await enqueue(owner, way, [{ payload: large }]);
    const result = large.slice(0, 131_000);
    await complete(owner, leaseOf(await claim(owner, way)), [{ id, result }]);
    await startNextSegment(owner);
    await closeSegments(owner);
    await closeSegments(owner);
    await passAllRetentions(owner);
    const env = { ...made.env(way), ARCHIVE: new MemoryBucket() };
    await enableArchive(connect, env);
    // runArchive() returns true if its time was up before all work was done.
    for (let steps = 0; await runArchive(connect, env); steps++) expect(steps).toBeLessThan(20);
    const { rows } = await owner.query('select waiting, failures, last_error from tock.archive()');
    expect(rows).toEqual([{ waiting: 0, failures: 0, last_error: null }]);
    await dropExpiredSegments(owner);
    expect((await owner.query('select from tock.task($1)', [id])).rowCount).toBe(0);
    const app = createApp(connect);
    const headers = { authorization: `Bearer ${made.key}` };
    const read = await app.request(`/v1/tasks/${id}`, { headers }, env);
    expect(read.status).toBe(200);
    expect((await read.text()).slice(0, 400)).toContain(id);
  },
);
