import { expect, test } from 'vitest';
import { client, databasePerFile, db } from '../../test_database.ts';
import { refusal, rows, value } from '../../verbs.ts';

databasePerFile();

type Asked = [cron: string, zone: string, after: string, count: number];

const nextFires = (asked: Asked) =>
  rows<{ local_time: string; fire_at: Date }>(
    client,
    'select * from tock.next_fires(p_cron => $1, p_time_zone => $2, p_after => $3, p_count => $4)',
    asked,
  );

/** The local times of the next fires. */
const local = async (...asked: Asked) =>
  (await nextFires(asked)).map(({ local_time }) => local_time);

const instants = async (...asked: Asked) =>
  (await nextFires(asked)).map(({ fire_at }) => fire_at.toISOString().replace('.000Z', 'Z'));

test('a fixed time that the clocks skip fires once, right after the jump', async () => {
  expect(await local('30 2 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', 3)).toEqual([
    '2026-03-28 02:30:00',
    '2026-03-29 03:00:00',
    '2026-03-30 02:30:00',
  ]);
  expect(await local('0,15,30 2 * * *', 'America/New_York', '2026-03-08T05:00:00Z', 2)).toEqual([
    '2026-03-08 03:00:00',
    '2026-03-09 02:00:00',
  ]);
});

test('a fixed time that the clocks show twice fires the first time', async () => {
  expect(await instants('30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00:00Z', 2)).toEqual([
    '2026-10-25T00:30:00Z',
    '2026-10-26T01:30:00Z',
  ]);
  // The start of this search lies between the two times at which the clocks show 2:30.
  expect(await instants('30 2 * * *', 'Europe/Berlin', '2026-10-25T01:10:00Z', 1)).toEqual([
    '2026-10-26T01:30:00Z',
  ]);
});

test('an expression with steps or stars fires at each local time: not in a skipped hour, twice in a repeated one', async () => {
  expect(await instants('*/30 * * * *', 'Europe/Berlin', '2026-03-29T00:15:00Z', 3)).toEqual([
    '2026-03-29T00:30:00Z',
    '2026-03-29T01:00:00Z',
    '2026-03-29T01:30:00Z',
  ]);
  expect(await local('*/30 2 * * *', 'Europe/Berlin', '2026-03-28T20:00:00Z', 1)).toEqual([
    '2026-03-30 02:00:00',
  ]);
  expect(await local('*/30 1 * * *', 'America/New_York', '2026-11-01T04:00:00Z', 5)).toEqual([
    '2026-11-01 01:00:00',
    '2026-11-01 01:30:00',
    '2026-11-01 01:00:00',
    '2026-11-01 01:30:00',
    '2026-11-02 01:00:00',
  ]);
});

test('fires are right where clocks change by half an hour, by a day, or at midnight', async () => {
  expect(await instants('15 2 * * *', 'Australia/Lord_Howe', '2026-10-03T00:00:00Z', 2)).toEqual([
    '2026-10-03T15:30:00Z',
    '2026-10-04T15:15:00Z',
  ]);
  expect(await instants('45 1 * * *', 'Australia/Lord_Howe', '2026-04-04T12:00:00Z', 2)).toEqual([
    '2026-04-04T14:45:00Z',
    '2026-04-05T15:15:00Z',
  ]);
  // The date 2011-12-30 did not exist in Apia. Its fire is left out, not moved to another date.
  expect(await local('0 9 * * *', 'Pacific/Apia', '2011-12-29T00:00:00Z', 3)).toEqual([
    '2011-12-29 09:00:00',
    '2011-12-31 09:00:00',
    '2012-01-01 09:00:00',
  ]);
  expect(await local('0 0 * * *', 'America/Sao_Paulo', '2018-11-03T12:00:00Z', 2)).toEqual([
    '2018-11-04 01:00:00',
    '2018-11-05 00:00:00',
  ]);
  expect(await instants('0 12 * * *', 'Pacific/Kiritimati', '2026-01-01T00:00:00Z', 1)).toEqual([
    '2026-01-01T22:00:00Z',
  ]);
});

test.each<[cron: string, ...days: string[]]>([
  ['0 0 LW * *', '2027-02-26', '2027-03-31'],
  ['0 0 15W * *', '2027-02-15', '2027-03-15'],
  ['0 0 * * FRI#2', '2027-02-12', '2027-03-12'],
  ['0 0 * * 5L', '2027-02-26', '2027-03-26'],
  ['0 0 13 * FRI', '2027-02-05', '2027-02-12', '2027-02-13'],
  ['0 0 13 * +FRI', '2027-08-13'],
  ['@weekly', '2027-01-31'],
])('%s falls on the right days', async (cron, ...days) => {
  const fires = await local(cron, 'UTC', '2027-01-30T12:00:00Z', days.length);
  expect(fires.map((text) => text.slice(0, 10))).toEqual(days);
});

test("fires do not depend on the session's time zone and date style", async () => {
  for (const zone of ['Asia/Tokyo', 'America/New_York']) {
    const other = await db.connect();
    await other.query(
      `set timezone = '${zone}'; set datestyle = 'German, DMY'; set intervalstyle = 'sql_standard'`,
    );
    const next = `select local_time from tock.next_fires(p_cron => '0 9 * * *', p_time_zone => 'Europe/Berlin')`;
    expect(await value(other, next)).toMatch(/^\d{4}-\d\d-\d\d 09:00:00$/);
    const put = await rows<{ at: number }>(
      other,
      `select extract(epoch from v.next_fire_at)::float8 as at from tock.put_schedule('zoned', '{
         "queue": "q", "cron": "30 2 * * *", "time_zone": "Europe/Berlin", "starts_at": "2090-03-25T12:00:00Z"}') v`,
    );
    expect(put).toEqual([{ at: Date.UTC(2090, 2, 26, 1) / 1000 }]);
  }
});

test('next_fires ends with the year 9999', async () => {
  const far = await local('0 0 29 2 +SUN', 'UTC', '9900-01-01T00:00:00Z', 1000);
  expect(far.at(-1)).toMatch(/^99\d\d-02-29/);
});

test('next_fires names the field of an invalid argument', async () => {
  for (const [arguments_, detail] of [
    ['', 'cron'],
    ["p_cron => '@daily', p_count => 0", 'count'],
    ["p_cron => '@daily', p_time_zone => 'Nowhere/Else'", 'time_zone'],
    ["p_cron => '@daily', p_after => 'infinity'", 'after'],
    ["p_cron => '@daily', p_after => '1969-12-31T00:00:00Z'", 'after'],
  ]) {
    const refused = await refusal(client.query(`select * from tock.next_fires(${arguments_})`));
    expect(refused).toMatchObject({ code: 'TK422', detail });
  }
  expect(await rows(client, "select * from tock.next_fires('nobody')")).toEqual([]);
});
