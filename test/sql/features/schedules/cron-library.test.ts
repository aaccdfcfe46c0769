import { Cron } from 'croner';
import { beforeAll, expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import { rows } from '../../verbs.ts';
import { clockChanges, randomExpression, seededPicker, zones } from './cron.ts';

databasePerFile();

/** The zones for which PostgreSQL and Node have the same data. The others can't be compared. */
const known: string[] = [];

beforeAll(async () => {
  for (const zone of zones) if (await sameClocks(zone)) known.push(zone);
  expect(known.length).toBeGreaterThan(zones.length / 2);
});

/** True if PostgreSQL and Node show the same local time in a zone at every tenth day from 1995 to 2036. */
async function sameClocks(zone: string): Promise<boolean> {
  const tenDays = 864_000_000;
  const at = Array.from({ length: 1500 }, (_, n) => new Date(Date.UTC(1995, 0) + n * tenDays));
  const shown = await rows<{ text: string }>(
    client,
    `select to_char(a at time zone $1, 'YYYY-MM-DD HH24:MI') as text
     from unnest($2::timestamptz[]) with ordinality u (a, n) order by n`,
    [zone, at.map((instant) => instant.toISOString())],
  );
  const clock = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'short',
  });
  return at.every((instant, n) => clock.format(instant) === shown[n]?.text);
}

type Case = { cron: string; zone: string; after: string };

/** For each case the next three fires, each computed from the one before. */
async function ours(cases: Case[]): Promise<(string | null)[][]> {
  const answers = await rows<{ fires: (Date | null)[] }>(
    client,
    `select array[a.at, b.at, c.at] as fires
     from unnest($1::text[], $2::text[], $3::timestamptz[]) with ordinality t (cron, zone, after, n)
     cross join lateral (select tock.parse_cron(t.cron) as plan offset 0) p
     cross join lateral (select tock.cron_after(p.plan, t.zone, t.after) as at offset 0) a
     cross join lateral (select tock.cron_after(p.plan, t.zone, a.at) as at offset 0) b
     cross join lateral (select tock.cron_after(p.plan, t.zone, b.at) as at offset 0) c
     order by t.n`,
    [cases.map((c) => c.cron), cases.map((c) => c.zone), cases.map((c) => c.after)],
  );
  return answers.map(({ fires }) => fires.map((at) => at?.toISOString() ?? null));
}

function theirs({ cron, zone, after }: Case): (string | null)[] {
  const options = { timezone: zone, sloppyRanges: true, fixedTimeRule: 'no-wildcard' } as const;
  const fires = new Cron(cron, options).nextRuns(3, new Date(after));
  return [0, 1, 2].map((n) => fires[n]?.toISOString() ?? null);
}

const seed = Number(process.env.TOCK_TEST_SEED ?? 7);
const changing = new Map(zones.map((zone) => [zone, clockChanges(zone, 1995, 2036)]));

function cases(count: number, instant: (zone: string) => number): Case[] {
  const draw = seededPicker(seed);
  return Array.from({ length: count }, () => {
    const zone = draw.one(known);
    return { cron: randomExpression(draw), zone, after: new Date(instant(zone)).toISOString() };
  });
}

async function agree(all: Case[]) {
  const ownFires = await ours(all);
  const different = all
    .map((testCase, n) => ({ ...testCase, ours: ownFires[n], theirs: theirs(testCase) }))
    .filter((testCase) => `${testCase.ours}` !== `${testCase.theirs}`);
  expect(different.slice(0, 5), `seed ${seed}, ${different.length} differ`).toEqual([]);
}

test('next fires are those of croner, for any expression, zone and instant', async () => {
  const { next } = seededPicker(seed + 1);
  await agree(
    cases(6000, () =>
      Math.floor(Date.UTC(1995, 0) + next() * (Date.UTC(2036, 0) - Date.UTC(1995, 0))),
    ),
  );
});

test('next fires are those of croner where clocks change', async () => {
  const draw = seededPicker(seed + 2);
  await agree(
    cases(6000, (zone) => {
      const at = changing.get(zone)?.length ? draw.one(changing.get(zone) ?? []) : 1_700_000_000;
      return (
        (at +
          draw.one([-86_400, -7200, -3600, -1800, -1, 0, 1, 1800, 3600]) +
          draw.whole(-600, 600)) *
        1000
      );
    }),
  );
});
