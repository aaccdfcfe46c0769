import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Connect } from '../../functions/database/types.ts';
import type { Service } from '../http/service.ts';
import { value } from '../sql/verbs.ts';
import { type Plan, validOf } from './requests.ts';
import { runs, seeds } from './seeds.ts';
import { type Target, target } from './target.ts';

/** Parts of the requests' values. None of Tock's statements contains them, so a match shows an injected value. */
const telling =
  /drop (table|schema)|pg_sleep\(6|truncate tock|public\.owned|a comment|\)\|\|''|x-_\.:y|Queue\.2|z{100}/i;

let at: Target;
let client: pg.Client;
const texts = new Set<string>();

/** Connects with auto_explain, which reports all statements as notices, also those inside functions. */
async function overheard({ database }: Service): Promise<Connect> {
  client = await database.connect(database.superUrl);
  await client.query(`load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_nested_statements = on;
    set client_min_messages = log; set log_min_messages = panic`);
  client.on('notice', ({ message = '' }) => {
    const [, text] = /Query Text: ([\s\S]*?)\n(?:Query Parameters:|.*\(cost=)/.exec(message) ?? [];
    if (text) texts.add(text);
  });
  return (_env, use) => use(async (text, values) => (await client.query(text, values)).rows);
}

beforeAll(async () => {
  at = await target(overheard);
});
afterAll(() => at.tock.database.drop());

test('auto_explain reports the statements that a function executes', async () => {
  await client.query("do $$ begin execute format('select %L', 'drop table'); end $$");
  expect([...texts].filter((text) => telling.test(text))).not.toEqual([]);
  texts.clear();
});

test('no text of a request becomes part of a statement, not even inside functions', async () => {
  const routes = at.operations.filter(({ path }) => path !== '/v1/health');
  const heard = async (plans: Plan[]) => {
    for (const plan of plans) await at.send(plan);
    const taken = [...texts].find((text) => telling.test(text));
    if (taken) throw new Error(taken.slice(0, 2000));
  };
  const property = fc.asyncProperty(fc.tuple(...routes.map(validOf)), heard);
  const numRuns = Math.ceil(runs / 20);
  for (const seed of seeds) await fc.assert(property, { seed, numRuns, endOnFailure: true });
  // The check needs statements that name a segment's tables, so there must be some.
  const made = [...texts].filter((text) => /tock\.runs_\d/.test(text));
  expect(made.length).toBeGreaterThan(10);
  expect(await value(at.tock.owner, 'select count(*) > 0 from tock.runs')).toBe(true);
});
