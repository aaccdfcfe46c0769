import { Cron } from 'croner';
import { expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import { refusal, rows, value } from '../../verbs.ts';
import { randomExpression, seededPicker } from './cron.ts';
import { putSchedule } from './schedules.ts';

databasePerFile();

const refused = (settings: object, name = 's') => refusal(putSchedule(client, name, settings));
const daily = { queue: 'q', cron: '@daily' };
const all = { ...daily, missed: 'all' };

const from = (year: number) => `${year}-01-01T00:00:00Z`;
const large = (bytes: number) => 'x'.repeat(bytes);

test.each<[string, object, RegExp]>([
  ['queue', { cron: '@daily' }, /name/],
  ['queue', { ...daily, queue: 'no spaces' }, /name/],
  ['cron', { queue: 'q' }, /one of cron, every_seconds and run_at/],
  ['cron', { ...daily, every_seconds: 5 }, /one of cron, every_seconds and run_at/],
  ['cron', { queue: 'q', cron: 5 }, /string of 1 to 500/],
  ['every_seconds', { queue: 'q', every_seconds: 0 }, /whole number from 1/],
  ['every_seconds', { queue: 'q', every_seconds: 1.5 }, /whole number/],
  ['run_at', { queue: 'q', run_at: '2030-01-01' }, /ISO 8601 instant/],
  ['run_at', { queue: 'q', run_at: from(2020) }, /never fires/],
  ['run_at', { queue: 'q', run_at: from(2090), starts_at: from(2030) }, /fires once/],
  ['ends_at', { ...daily, starts_at: from(2030), ends_at: from(2029) }, /after/],
  ['ends_at', { ...daily, ends_at: from(2020) }, /never fires/],
  ['time_zone', { ...daily, time_zone: 'Mars/Olympus' }, /no time zone/],
  ['time_zone', { ...daily, time_zone: 'CEST' }, /no time zone/],
  ['time_zone', { ...daily, time_zone: 'FOO5' }, /no time zone/],
  ['time_zone', { ...daily, time_zone: '+02:00' }, /no time zone/],
  ['jitter_seconds', { ...daily, jitter_seconds: 86_401 }, /from 0 to 86400/],
  ['overlap', { ...daily, overlap: 'maybe' }, /queue or skip or replace/],
  ['missed', { ...daily, missed: 'some' }, /one or skip or all/],
  ['missed_limit', { ...daily, missed_limit: 1001 }, /from 1 to 1000/],
  ['missed_limit', { ...all, missed_limit: 200, options: { unique_key: 'k' } }, /at most 100/],
  ['missed_limit', { ...all, missed_limit: 1000, payload: large(90_000) }, /64 MiB/],
  ['payload', { ...daily, payload: large(2_000_000) }, /payloads of up to/],
  ['payload', { ...daily, payload: [1], fire_as: 'fire' }, /object/],
  // fire_as adds the fire to the payload, which then exceeds the limit.
  ['payload', { ...daily, payload: { x: large(262_110) }, fire_as: 'fire' }, /payloads of up to/],
  ['options', { ...daily, options: [1] }, /an object/],
  ['options.priority', { ...daily, options: { priority: 10 } }, /from 0/],
  ['options.nonsense', { ...daily, options: { nonsense: 1 } }, /no option nonsense/],
  ['options.run_at', { ...daily, options: { run_at: from(2030) } }, /no run_at of their own/],
  ['options.expires_at', { ...daily, options: { expires_at: from(2030) } }, /no expires_at/],
  ['options.depends_on', { ...daily, options: { depends_on: ['1'] } }, /depends_on/],
  ['options.pipeline', { ...daily, options: { pipeline: ['a', 'b'] } }, /not a stage/],
  ['nonsense', { ...daily, nonsense: 1 }, /no setting nonsense/],
])('an invalid setting of a schedule is refused by its name: %s', async (field, settings, text) => {
  const { code, detail, message } = await refused(settings);
  expect([code, detail]).toEqual(['TK422', field]);
  expect(message).toMatch(text);
  expect(await rows(client, 'select from tock.schedules')).toEqual([]);
  expect(await rows(client, 'select from tock.schedule_next_fires')).toEqual([]);
});

test('an invalid schedule name is refused', async () => {
  for (const name of ['', '-a', 'a b', 'a'.repeat(201)])
    expect(await refused(daily, name)).toMatchObject({ code: 'TK422', detail: 'schedule' });
});

test.each([
  ['* * * *', /5 or 6 fields, but .* has 4/],
  ['* * * * * * *', /has 7/],
  ['60 * * * *', /minute field .* has '60'/],
  ['* 24 * * *', /hour field .* has '24'/],
  ['* * 32W * *', /day-of-month field/],
  ['* * L-3 * *', /day-of-month field .* has 'l-3'/],
  ['* * * MARCH *', /month field .* has 'march'/],
  ['* * * * FRI#6', /day-of-week field .* has 'fri#6'/],
  ['*/0 * * * *', /minute field .* has '\*\/0'/],
  ['5-1 * * * *', /minute field .* has '5-1'/],
  ['1,,2 * * * *', /minute field .* has ''/],
  ['@reboot', /5 or 6 fields/],
])('an invalid cron expression is refused with its wrong part: %s', async (cron, text) => {
  const { code, detail, message, hint } = await refused({ queue: 'q', cron });
  expect([code, detail]).toEqual(['TK422', 'cron']);
  expect(message).toMatch(text);
  expect(hint).not.toBe('');
});

test('an expression that never fires is refused', async () => {
  // At all times of the last one the clocks jump from 2 to 3, so none of them exists.
  const never = ['0 0 30 2 *', '0 0 31 4,6,9,11 *', '0 0 1-7 * +MON#5', '*/30 2 * 3 SUNL'];
  const message = expect.stringMatching('never fires');
  for (const cron of never) {
    const error = await refused({ queue: 'q', cron, time_zone: 'Europe/Berlin' });
    expect(error).toMatchObject({ code: 'TK422', detail: 'cron', message });
  }
  for (const cron of ['0 0 29 2 *', '0 0 29 2 +SUN'])
    await putSchedule(client, 'leap', { queue: 'q', cron });
});

test('a whole number may have zeros after its decimal point', async () => {
  await client.query(
    `select tock.put_schedule('zeros', '{"queue": "q", "every_seconds": 5.0, "missed_limit": 70.00}')`,
  );
  const sum = "select every_seconds + missed_limit from tock.schedules where name = 'zeros'";
  expect(await value(client, sum)).toBe(75);
});

// croner reads 5/15 only together with /15 and 99/15, so it gets the range that 5/15 means.
function ranged(text: string): string {
  const fields = text.trim().split(/\s+/);
  const most = [59, 59, 23, 31, 12, 6].slice(6 - fields.length);
  const items = (field: string, n: number) =>
    field.split(',').map((item) => item.replace(/^(\+?\w+)\//, `$1-${most[n]}/`));
  return fields.map((field, n) => items(field, n).join(',')).join(' ');
}

test('parse_cron refuses the same random expressions with mistakes as croner', async () => {
  const draw = seededPicker(3);
  const mistaken = Array.from({ length: 4000 }, () => {
    const text = randomExpression(draw);
    const at = draw.whole(0, text.length - 1);
    const other = draw.one(['', ...'0 7 9 - / , * L W # MON JAN 31 60'.split(' ')]);
    return text.slice(0, at) + other + text.slice(at + draw.whole(0, 1));
  }).filter((text) => text.trim().split(/\s+/).length <= 6);
  await client.query(`create function pg_temp.takes(text) returns boolean language plpgsql as
    $$ begin perform tock.parse_cron($1); return true; exception when sqlstate 'TK422' then return false; end $$`);
  const ours = await value<boolean[]>(
    client,
    'select array_agg(pg_temp.takes(c) order by n) from unnest($1::text[]) with ordinality u (c, n)',
    [mistaken],
  );
  const theirs = mistaken.map((text) => {
    try {
      new Cron(ranged(text));
      return true;
    } catch {
      return false;
    }
  });
  // croner accepts MON#05, and checks the end of 9-79/47 only if a step reaches it.
  const differ = mistaken
    .filter((text, n) => ours[n] !== theirs[n] && (ours[n] || !/#0|-\d+\/\d/.test(text)))
    .map((text) => `ours are not theirs: ${text}`);
  for (const taken of [true, false])
    expect(ours.filter((one) => one === taken).length).toBeGreaterThan(300);
  expect(differ.slice(0, 20)).toEqual([]);
});
