import { expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import { value } from '../../verbs.ts';
import { begun, save, saveAll } from './steps.ts';

databasePerFile();

const many = 100_000;

test('of 100,000 early signals each is kept for its wait, and is deleted in parts when it is old', async () => {
  // Each statement takes the locks of 1,000 events, which the lock table of a server holds.
  for (let from = 0; from < many; from += 1000)
    await client.query(
      `select count(s.accepted) from generate_series($1::integer, $1 + 999) n
       cross join lateral tock.signal('early/' || n, to_jsonb(n)) s`,
      [from],
    );
  const run = await begun();
  const chosen = Array.from({ length: 100 }, (_, n) => n * (many / 100) + n);
  const saved = await saveAll(
    run.lease,
    chosen.map((n) => ({ id: run.id, name: `w${n}`, event: `early/${n}` })),
  );
  expect(saved.map(({ state, result }) => [state, result])).toEqual(chosen.map((n) => ['done', n]));
  expect(await save(run, { name: 'none', event: `early/${many}` })).toMatchObject({
    state: 'waiting',
  });
  await client.query("update tock.events set signalled_at = now() - interval '31 days'");
  let deleted = 0;
  for (let part = 1; part > 0; deleted += part) {
    part = await value<number>(client, 'select tock.prune_events(10000)');
    expect(part).toBeLessThanOrEqual(10_000);
  }
  expect(deleted).toBe(many);
});
