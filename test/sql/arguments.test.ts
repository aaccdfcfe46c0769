import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import type pg from 'pg';
import { beforeAll, expect, test } from 'vitest';
import { dates, injections, invalidValues, numbers } from '../fuzz/hostile_values.ts';
import { runs, seeds } from '../fuzz/seeds.ts';
import { describeSchema } from './describe_schema.ts';
import { grantedVerbs, memberOf, membersPerFile } from './roles.ts';
import { db, client as owner } from './test_database.ts';
import { claim, enqueue, leaseOf, numberedTasks, rows, value } from './verbs.ts';

type Verb = { name: string; arguments: [name: string, type: string][] };

let verbs: Verb[];
let ids: string[];
let lease: string;

/**
 * Other owners' data, which no call may change: the tasks of a queue, a key, a table outside of Tock, and the
 * schema.
 */
const apart = `select (select string_agg(t::text, ' ' order by t.id) from tock.tasks(p_filter => '{"queue": "apart"}') l
    cross join lateral jsonb_array_elements(l.tasks) j cross join lateral tock.task((j ->> 'id')::bigint) t) as tasks,
  (select string_agg(k::text, ' ') from tock.keys_list() k where k.name = 'apart') as keys,
  (select string_agg(b::text, ' ') from public.bystanders b) as bystanders,
  (select string_agg(n.nspname, ' ' order by 1) from pg_namespace n where n.nspname !~ '^pg_t') as schemas,
  (select string_agg(c.relname, ' ' order by 1) from pg_class c where c.relnamespace = 'public'::regnamespace) as public,
  (select string_agg(p.oid::text || p.prosrc, ' ' order by p.oid) from pg_proc p where p.oid > 16383) as routines`;

membersPerFile();
beforeAll(async () => {
  await (await db.connect(db.superUrl)).query(
    `create table public.bystanders (n integer); insert into public.bystanders values (1);
     grant select on public.bystanders to tock`,
  );
  await enqueue(owner, 'apart', numberedTasks(2));
  await owner.query("select tock.create_key(p_name => 'apart', p_scopes => '{read}')");
  ids = await enqueue(owner, 'a', [
    ...numberedTasks(20),
    ...numberedTasks(3, 20, { delay_seconds: 900 }),
  ]);
  lease = leaseOf(await claim(owner, 'a', { limit: 5 }));
  // With tock on the search path, format_type() would print Tock's types without their schema.
  await owner.query('set search_path = pg_catalog');
  verbs = await rows<Verb>(
    owner,
    `select p.proname as name, coalesce((select json_agg(json_build_array(p.proargnames[a.n], format_type(a.type, null)) order by a.n)
       from unnest(p.proargtypes::oid[]) with ordinality a (type, n)), '[]') as arguments
     from pg_proc p where p.pronamespace = 'tock'::regnamespace and p.proname = any ($1) order by p.proname`,
    [[...new Set([...(grantedVerbs.tock_admin ?? []), ...(grantedVerbs.tock_edge ?? [])])]],
  );
});

const oneOf = (words: string) => fc.constantFrom(...words.split(/\s+/));
const text = fc.oneof(
  fc.constantFrom('a', 'b', '*', 'tock_00000000', ''),
  fc.constantFrom(...injections, ...dates),
);
const whole = oneOf('0 1 -1 2 10000 2147483647 -2147483648');
// Two segments are there already, so that create_segments() makes none.
const width = fc.constantFrom(null, '-1', '0', '100000', '9223372036854775807');
const ahead = oneOf('-1 0 2 1001 2147483647');
const id = () =>
  fc.oneof(
    fc.nat(50).map((n) => ids[n % ids.length] as string),
    whole,
    fc.constantFrom('9223372036854775807', '-9223372036854775808'),
  );
const fraction = oneOf('0 -0 0.5 -1 NaN Infinity -Infinity 1e-300 1e300');
const keys =
  oneOf(`payload queue state tenant error id result priority cron every_seconds concurrency_key depends_on
  pipeline unique_key headers tasks lease_seconds paused spawn stage it's __proto__`);

/**
 * JSON that a verb may expect, with any value in it. It has no NUL and no lone surrogate: the cast to jsonb
 * rejects them.
 */
const json = () => {
  const leaf = fc.oneof(
    text.map((item) => JSON.stringify(item.toWellFormed())),
    id().map((item) => JSON.stringify(item)),
    fc.constantFrom(
      ...numbers,
      ...invalidValues.filter(
        (invalidValue) => !/u0000|\\u[dD]|400$/.test(invalidValue) && invalidValue.length < 2000,
      ),
    ),
  );
  const written = (made: Record<string, string>) =>
    `{${Object.entries(made).map(([key, part]) => `${JSON.stringify(key)}: ${part}`)}}`;
  const object = (value: fc.Arbitrary<string>) =>
    fc.dictionary(keys, value, { maxKeys: 4 }).map(written);
  const list = (value: fc.Arbitrary<string>) =>
    fc.array(value, { maxLength: 3 }).map((made) => `[${made}]`);
  return fc.oneof(object(leaf), list(object(leaf)), object(list(object(leaf))), list(leaf), leaf);
};

const listed = (all: (string | null)[]) =>
  `{${all.map((item) => (item === null ? 'NULL' : JSON.stringify(item)))}}`;

function someOf(type: string): fc.Arbitrary<string | null> {
  if (type.endsWith('[]')) {
    const of = type.slice(0, -2);
    if (of.startsWith('tock.') || of.startsWith('claimed')) return fc.constantFrom('{}', null);
    return fc.oneof(
      { weight: 9, arbitrary: fc.array(someOf(of), { maxLength: 4 }).map(listed) },
      { weight: 1, arbitrary: fc.constant(null) },
    );
  }
  const kinds: Record<string, () => fc.Arbitrary<string>> = {
    text: () => text,
    bigint: id,
    integer: () => whole,
    smallint: () => oneOf('0 9 -1 32767'),
    boolean: () => oneOf('true false'),
    jsonb: json,
    json,
    uuid: () => fc.constantFrom(lease, randomUUID(), '00000000-0000-0000-0000-000000000000'),
    numeric: () => fraction,
    'double precision': () => fraction,
    'timestamp with time zone': () =>
      fc.constantFrom(
        'infinity',
        '-infinity',
        '4714-11-24 00:00:00+00 BC',
        '294276-12-31 23:59:59+00',
        '2030-01-01 00:00:00+00',
        'now',
      ),
    interval: () => fc.constantFrom('0', '-1 day', '178000000 years', '1 month 1 microsecond'),
  };
  const kind = kinds[type];
  if (!kind) throw new Error(`No values for ${type}.`);
  return fc.oneof({ weight: 9, arbitrary: kind() }, { weight: 1, arbitrary: fc.constant(null) });
}

type Called = { verb: string; sql: string; values: (string | null)[] };

function callOf({ name: verb, arguments: all }: Verb): fc.Arbitrary<Called> {
  const special: Record<string, fc.Arbitrary<string | null>> = { p_ahead: ahead, p_width: width };
  const named = all.map(([of, type], n) => `${of} => $${n + 1}::${type}`);
  const sql = `select * from tock.${verb}(${named})`;
  const values = fc.tuple(...all.map(([of, type]) => special[of] ?? someOf(type)));
  return values.map((given) => ({ verb, sql, values: given }));
}

test('with any arguments a verb answers or raises a TK error, and changes no other data', async () => {
  const before = [await describeSchema(owner), await rows(owner, apart)];
  const clients = new Map(
    ['tock_admin', 'tock_edge'].flatMap((role) =>
      (grantedVerbs[role] ?? []).map((verb) => [verb, memberOf(role).client]),
    ),
  );
  const answered = new Set<string>();
  const hold = async ({ verb, sql, values }: Called) => {
    const error = await (clients.get(verb) as pg.Client).query(sql, values).then(
      () => answered.add(verb) && null,
      (refused: pg.DatabaseError) => refused,
    );
    // A maintenance job may give up its lock (55P03) when autovacuum holds it.
    if (error && !/^(TK|55P03)/.test(error.code ?? ''))
      throw new Error(`${verb}: ${error.code} ${error.message} in ${error.where}`);
  };
  for (const seed of seeds) {
    // These two end the current segment or range. test/archive/end-segment.test.ts and
    // test/sql/features/nodes/found-range.test.ts cover them.
    const ends = ['end_segment', 'found_range'];
    const calls = fc.oneof(...verbs.filter(({ name }) => !ends.includes(name)).map(callOf));
    await fc.assert(fc.asyncProperty(calls, hold), { seed, numRuns: 3 * runs });
  }
  expect(answered.size).toBeGreaterThan(20);
  expect([await describeSchema(owner), await rows(owner, apart)]).toEqual(before);
  expect(
    await value(owner, "select count(*)::int from tock.claim(p_queue => 'apart', p_limit => 5)"),
  ).toBe(2);
});
