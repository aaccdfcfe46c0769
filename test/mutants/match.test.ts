import { expect, test } from 'vitest';
import { edited, type Pattern, placesOf } from './match.ts';

const path = 'sql/example.sql';
const claim = `create function tock.claim() returns void as $$
begin
  if v_seen.token is not null then
    return;
  end if;
  update tock.leases_%1$s l set closed_at = now() where l.token = v_token for update skip locked;
end $$;

comment on function tock.claim is 'Claims.';

create function tock.complete() returns void as $$
begin
  update tock.leases_%1$s l set closed_at = null where l.token = v_token for update skip locked;
end $$;
`;
const repeat = {
  in: 'tock.claim',
  find: 'if v_seen.token is not null then',
  replace: 'if false then',
};

/** The text with the mutant in it. */
function mutated(text: string, pattern: Pattern): string {
  const source = { path, text };
  return edited(source, placesOf([source], pattern));
}

test('a mutant is planted as it is written, in the function that it names', () => {
  const unlocked = { in: 'tock.claim', find: 'for update skip locked', replace: '' };
  expect(mutated(claim, repeat)).toBe(claim.replace(repeat.find, 'if false then'));
  expect(mutated(claim, unlocked)).toBe(claim.replace('for update skip locked', ''));
});

test('every place in the function that it names is replaced', () => {
  const text = claim.replace('return;', `${repeat.find} return; end if;`);
  expect(mutated(text, repeat).match(/if false then/g)).toHaveLength(2);
});

test('a name that occurs twice must match one name, and two names must match two', () => {
  const twice = { in: 'tock.claim', find: 'l set closed_at = now() where l.token', replace: '' };
  const renamed = claim.replaceAll(' l ', ' held ').replaceAll('l.token', 'held.token');
  expect(mutated(renamed, twice)).not.toContain('closed_at = now()');
  expect(() => mutated(renamed.replaceAll('held.token', 'other.token'), twice)).toThrow(
    'no places',
  );
  const two = { in: 'tock.claim', find: 'return v_one - v_two', replace: '' };
  expect(() => mutated(claim.replace('return;', 'return v_x - v_x;'), two)).toThrow('no places');
});

test('keywords and names of PostgreSQL match only themselves', () => {
  const text = claim.replace('return;', 'perform pg_catalog.pg_sleep(v_pause);');
  const ofTheirs = (find: string) => () => mutated(text, { in: 'tock.claim', find, replace: '' });
  expect(ofTheirs('perform pg_catalog.now(v_pause)')).toThrow('no places');
  expect(ofTheirs('execute pg_catalog.pg_sleep(v_pause)')).toThrow('no places');
  expect(ofTheirs('perform pg_catalog.pg_sleep(v_wait)')).not.toThrow();
});

test('a function that was renamed or split is found by its code', () => {
  expect(mutated(claim.replaceAll('tock.claim', 'tock.take_task'), repeat)).toContain(
    'if false then',
  );
  const split = claim.replaceAll('v_seen', 'v_earlier').replaceAll('tock.claim', 'tock.repeated');
  const rest = 'create function tock.claim() returns void as $$ begin end $$;\n\n';
  expect(mutated(rest + split, repeat)).toContain('if false then');
});

test('several equal places, or none, are an error', () => {
  const unlocked = { in: 'tock.gone', find: 'for update skip locked', replace: '' };
  expect(() => mutated(claim, unlocked)).toThrow('tock.gone has 2 places for: for update');
  const alike = claim.replace(
    repeat.find,
    'if a.b is not null then end if; if c.d is not null then',
  );
  expect(() => mutated(alike, repeat)).toThrow('tock.claim has 2 places');
  expect(() => mutated(claim, { ...repeat, find: 'return 7' })).toThrow('no places');
});

test('a gap matches any tokens, and in the replacement it stands for the same tokens', () => {
  const gap = {
    in: 'tock.claim',
    find: 'set … where l.token',
    replace: 'set … where true or l.token',
  };
  expect(mutated(claim, gap)).toContain('set closed_at = now() where true or l.token = v_token');
});
