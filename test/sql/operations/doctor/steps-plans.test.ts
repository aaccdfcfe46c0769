import { expect, test } from 'vitest';
import { saveAll } from '../../features/steps/steps.ts';
import { badScans, plannerStatistics, sessionWithPlans, stopAutovacuum } from '../../plans.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { claim, enqueue, leaseOf, numberedTasks } from '../../verbs.ts';
import { expectDoctor } from '../findings.ts';

databasePerFile();

test('neither the doctor nor prune scans the steps, the waits or the waiting tasks, with any statistics', async () => {
  await stopAutovacuum(client);
  const ids = await enqueue(client, 'q', numberedTasks(1100));
  const lease = leaseOf(await claim(client, 'q', { limit: 1100 }));
  for (const part of [0, 550])
    await saveAll(
      lease,
      ids.slice(part, part + 550).map((id) => ({ id, name: 'w', event: `e${id}` })),
    );
  await client.query("update tock.event_waits set waiting_since = now() - interval '2 days'");
  const bounds = { tables: /event_waits|waiting|steps/, most: 1100, least: 3 };
  for (const [name, known] of plannerStatistics) {
    const on = await sessionWithPlans(db, known, 'auto');
    for (const call of ['doctor()', "run_maintenance('prune')"])
      expect(
        await badScans(on, () => on.query(`select * from tock.${call}`), bounds),
        `${name} ${call}`,
      ).toEqual([]);
  }
  await expectDoctor(
    /^warning: autovacuum is off/,
    /: at least 1,000 tasks wait for over a day: (e\d+ \(task \d+ since [^ ]*Z\)(, )?){5} =>/,
  );
});
