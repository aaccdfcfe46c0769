const words = (text: string) => text.trim().split(/\s+/);

/** Texts that would end a string, comment or statement of SQL too early, or that format() would interpret. */
export const injections = [
  ...words(
    '$1 $2::text % tock.runs pg_catalog.pg_class public {{}} \\N __proto__ constructor toString null',
  ),
  ...words('NaN Infinity -infinity now today'),
  // Texts of an array and of a row.
  ...words('{"a (,)'),
  "'; drop table tock.runs cascade; --",
  "' or ''='",
  "'||(select key from tock.keys)||'",
  '"; drop schema tock cascade; --',
  '\\',
  "\\'; select pg_sleep(60); --",
  "E'\\x27'",
  "U&'\\0027'",
  '$$; drop table tock.keys; $$',
  '$q$; truncate tock.runs; $q$',
  '%s %I %L %1$s %%',
  '/* a comment',
  '-- a comment',
  ') as t; create table public.owned (); --',
  '1); delete from tock.tasks where (1=1',
  '\u2019; drop table tock.runs; --',
  '\uff07 or 1=1',
  'a\tb\r\nc',
  '\u0001\u0008\u001b[31m',
  '\u202egnitirw\u202c',
  'e\u0301\u0302\u0303',
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}',
  '\u{10ffff}',
  '\ufeff\ufffe',
  "'".repeat(200),
  '\\'.repeat(199),
  '%s'.repeat(100),
];

const hex = (text: string) => Buffer.from(text).toString('hex');

/** Cursors that no call has returned. */
export const cursors = [
  'ff',
  '5b5d',
  '0'.repeat(400),
  hex('null'),
  hex('{"a": 1}'),
  hex('["ready"]'),
  hex('["ready", 1, "x", 2]'),
  hex('["ready", 99999999999, 1, 1]'),
  hex('["waiting", "x", {}]'),
  hex('["done", 1, 1, 9223372036854775808]'),
];

/** Invalid instants, and the earliest and latest valid ones. */
export const dates = [
  ...words(`
    0000-01-01T00:00:00Z 0001-01-01T00:00:00Z 1970-01-01T00:00:00Z 1969-12-31T23:59:59Z 2016-12-31T23:59:60Z
    2030-02-30T00:00:00Z 2030-01-01T24:00:00Z 2030-01-01T00:00:00+14:00 2030-01-01T00:00:00-23:59
    2030-01-01T00:00:00.123456789123456789Z 9999-12-31T23:59:59Z 9999-12-31T23:59:59.9999999Z
    9999-12-31T23:59:59-23:59 +275760-09-13T00:00:00Z -000001-01-01T00:00:00Z 294277-01-01T00:00:00Z
    infinity -infinity segment P1Y2M3DT4H 2030-01-01T00:00:00 20300101T000000Z`),
  '1 day',
  '2030-01-01 00:00:00',
];

/** Numbers in forms that JSON allows. A double can hold few of them exactly. */
export const numbers = words(`
  -0 0.0 1e0 9007199254740991 9007199254740993 -9007199254740993 2147483648 -2147483649 9223372036854775807
  9223372036854775808 1234567890123456789012345 0.1000000000000000055511151231257827 1e-99 5e-99 1e99
  1.7976931348623157e99`);

/** JSON texts that no option accepts. */
export const invalidValues = [
  ...words(String.raw`
    null true "" [] {} [[]] [null] -1 0 0.5 1e308 1e400 -1e400 "NaN" "Infinity" "-0" "0" "1" "1234567890123456789"
    "9223372036854775807" "9223372036854775808" "1234567890123456789012345" "00000000-0000-0000-0000-000000000000"
    "5e1f7c0a-3b6d-4d58-9a52-7c1e0000000g" "\u0000" "a\u0000b" "\ud800" "\udc00\ud800" {"\u0000":1}
    {"__proto__":{"a":1}} {"constructor":{"prototype":1}} {"a":1,"a":2}`),
  '" "',
  `"${'x'.repeat(10_000)}"`,
  `"${'\u{1f600}'.repeat(600)}"`,
  `${'['.repeat(600)}${']'.repeat(600)}`,
  `${'{"a":'.repeat(600)}1${'}'.repeat(600)}`,
  ...cursors.map((cursor) => JSON.stringify(cursor)),
  ...numbers,
  ...dates.map((date) => JSON.stringify(date)),
  ...injections.map((text) => JSON.stringify(text)),
];
