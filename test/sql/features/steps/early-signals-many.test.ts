import { expect, test } from 'vitest';
import { badScans, pages } from '../../plans.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { value } from '../../verbs.ts';
import { begun, save, saveAll } from './steps.ts';

databasePerFile();

const many = 1_000_000;
/** As many come by calls; the others are rows, because a million calls take minutes. */
const called = 100_000;
const portion = 10_000;
const event = (n: number) => `early/${n}`;

/** The pages that a call reads, by number: the least of three, because one may extend a table. */
async function fewest(numbers: number[], call: (n: number) => string): Promise<number> {
  const counts: number[] = [];
  for (const n of numbers) counts.push(await pages(client, call(n)));
  return Math.min(...counts);
}

/** The pages of a wait for one of these events, which has a payload, and of a signal of another one. */
async function costs(numbers: number[]): Promise<[wait: number, signal: number]> {
  const { id, lease } = await begun();
  const wait = (n: number) => JSON.stringify([{ id, name: `w${n}`, event: event(n) }]);
  return [
    await fewest(numbers, (n) => `* from tock.save_steps('${lease}', '${wait(n)}')`),
    await fewest(numbers, (n) => `* from tock.signal('other/${n}')`),
  ];
}

test('of a million early signals each is kept for its wait at the cost of the first, and is deleted in parts when it is old', async () => {
  const few = [0, 1, 2];
  const signal = `select count(s.accepted) from generate_series($1::integer, $2::integer - 1) n
    cross join lateral tock.signal('early/' || n, to_jsonb(n)) s`;
  await client.query(signal, [0, few.length]);
  const [wait, signalled] = await costs(few);
  // Each statement takes the locks of its events, of which the lock table of a server holds some thousands.
  for (let from = few.length; from < called; from += 1000)
    await client.query(signal, [from, Math.min(called, from + 1000)]);
  await client.query(
    `insert into tock.events (event, payload)
     select 'early/' || n, to_jsonb(n) from generate_series($1::integer, $2::integer - 1) n`,
    [called, many],
  );
  const run = await begun();
  const chosen = Array.from({ length: 100 }, (_, n) => n * (many / 100) + n);
  const saved = await saveAll(
    run.lease,
    chosen.map((n) => ({ id: run.id, name: `w${n}`, event: event(n) })),
  );
  expect(saved.map(({ state, result }) => [state, result])).toEqual(chosen.map((n) => ['done', n]));
  // Downwards, because a sequential scan would begin where the one before it has ended.
  const [waitLater, signalledLater] = await costs([800_000, 500_000, 200_000]);
  // An index of a million events is two pages deeper, and a signal adds to two of them.
  expect(waitLater).toBeLessThanOrEqual(wait + 10);
  expect(signalledLater).toBeLessThanOrEqual(signalled + 10);
  expect(await save(run, { name: 'none', event: event(many) })).toMatchObject({ state: 'waiting' });

  await client.query("update tock.events set signalled_at = signalled_at - interval '31 days'");
  const prune = `select tock.prune_events(${portion})`;
  for (let left = many; left > portion; left -= portion)
    expect(await value(client, prune)).toBe(portion);
  // The last part is no dearer, though all those before it have left dead rows.
  const on = await db.connect(db.superUrl);
  const bounds = { tables: /^events$/, most: portion, least: 1 };
  expect(await badScans(on, () => on.query(prune), bounds)).toEqual([]);
  // Six more events were signalled to see the cost.
  expect(await value(client, prune)).toBe(6);
});
