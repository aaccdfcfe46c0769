import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { rows } from '../../verbs.ts';

let db: Database;

beforeAll(async () => {
  db = await freshDatabase();
});

afterAll(() => db.drop());

// Options that only the enqueue needs: a run does not store them. `name` is for depends_on in the same call.
const usedUp = `
  changed_at debounce_max_seconds expires_in_seconds name on_conflict unique_policy unique_seconds`;

const samples: Record<string, unknown> = {
  depends_on: ['1'],
  backoff: { kind: 'fixed' },
  expires_at: '2100-01-01T00:00:00Z',
  include_results: true,
  headers: { a: 'b' },
  on_parent_failure: 'run',
  parent: '1',
  pipeline: [{ queue: 'b' }],
};
const ofKind: Record<string, unknown> = {
  text: 'a',
  whole: 1,
  number: 1,
  url: 'https://a.example',
};

test('each option of a task is stored with its runs, or is listed as needed only by the enqueue', async () => {
  const client = await db.connect();
  const options = await rows<{ name: string; kind: string }>(
    client,
    'select name, kind from tock.extended_options()',
  );
  const lost: string[] = [];
  for (const { name, kind } of options) {
    const task = { depends_on: ['1'], [name]: samples[name] ?? ofKind[kind] ?? 'keep' };
    const [kept] = await rows<{ options: Record<string, unknown> }>(
      client,
      `select tock.kept_options($1, tock.policy('q'), now()) as options`,
      [JSON.stringify(task)],
    );
    if (!(name in (kept?.options ?? {}))) lost.push(name);
  }
  expect(lost.sort()).toEqual(usedUp.trim().split(/\s+/));
});
