import { expect, test } from 'vitest';
import { client, databasePerTest } from '../../test_database.ts';
import { value } from '../../verbs.ts';

databasePerTest();

type Step = { name: string; result: unknown; error: unknown };

/** What the archive keeps of the steps of the task at position 1, and its bytes. */
async function archived(): Promise<{ steps: Step[]; bytes: number }> {
  const [text = ''] = await value<string[]>(
    client,
    "select tock.steps_to_archive(1 << 20 | 1, '{}')",
  );
  return { steps: JSON.parse(text), bytes: Buffer.byteLength(text) };
}

const saveMany = (count: number, columns: string) =>
  client.query(
    `insert into tock.steps (task_id, position, saved_at, kind, name, state, result, error)
     select 1 << 20 | 1, 1 + n, now() + n * interval '1 s', 'step', ${columns}
     from generate_series(1, $1::integer) n`,
    [count],
  );

test('the steps of a task fill up to 4 MiB of its row in the archive, then results are shortened', async () => {
  const large = "to_jsonb(repeat('x', 262000))";
  await saveMany(
    20,
    `'s' || n, case n when 20 then 'failed' else 'done' end, case when n < 20 then ${large} end, case n when 20 then ${large} end`,
  );
  const { steps, bytes } = await archived();
  expect(steps.map(({ name }) => name)).toEqual(Array.from({ length: 20 }, (_, n) => `s${n + 1}`));
  expect(steps.filter(({ result }) => typeof result === 'string')).toHaveLength(15);
  const shortened = { shortened: true };
  expect(steps.slice(15, 19).map(({ result }) => result)).toEqual(Array(4).fill(shortened));
  expect(steps[19]).toMatchObject({ result: null, error: shortened });
  expect(bytes).toBeLessThan(4_200_000);
});

test('a list of steps that is larger than 4 MiB without results ends there in the archive', async () => {
  await saveMany(15_000, "lpad(n::text, 200, 'x'), 'done', null, null");
  const { steps, bytes } = await archived();
  expect(steps.length).toBeGreaterThan(1000);
  expect(bytes).toBeLessThan(5_000_000);
});
