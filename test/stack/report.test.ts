import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { slow } from '../../scripts/check/slow.ts';
import type { Report } from '../../scripts/check/suite.ts';
import { summary } from '../../scripts/check/summary.ts';
import { named } from '../../scripts/check/versions.ts';
import { checkout, home } from '../../scripts/stack/paths.ts';
import { attempt } from '../../scripts/stack/run.ts';

// The folder is inside the checkout, so that its test files can import vitest.
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(home(), 'toy-'));
  const reporter = JSON.stringify(join(checkout, 'test/report.ts'));
  writeFileSync(
    join(folder, 'vitest.config.ts'),
    `import { report } from ${reporter};
     export default { test: { include: ['*.test.ts'], reporters: [report] } };`,
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

async function reportOf(files: Record<string, string>): Promise<Report> {
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), `import { expect, test } from 'vitest';\n${text}`);
  }
  const file = join(folder, 'report.json');
  const env = { ...process.env, TOCK_TEST_REPORT: file, TOCK_TEST_STACK: '' };
  await attempt(['vitest', 'run', '--root', folder, ...Object.keys(files)], { env, cwd: checkout });
  return JSON.parse(readFileSync(file, 'utf8'));
}

test('the report counts every test, skipped tests with reasons, and files that failed', async () => {
  const report = await reportOf({
    'mixed.test.ts': `
      test('good', () => {});
      test('bad', () => expect(1).toBe(2));
      test('left', ({ skip }) => skip('no moon'));
      test.skip('wordless', () => {});`,
    'broken.test.ts': "throw new Error('outside of any test');",
  });
  expect(report).toEqual({
    stack: null,
    passed: 1,
    failed: 2,
    failures: [
      {
        name: 'mixed.test.ts: bad',
        why: expect.stringMatching(/^expected 1 to be 2.* \(mixed\.test\.ts:\d+\)$/),
      },
      { name: 'broken.test.ts', why: expect.stringMatching(/^outside of any test/) },
    ],
    skipped: [
      { name: 'mixed.test.ts: left', why: 'no moon' },
      { name: 'mixed.test.ts: wordless', why: 'it does not say why' },
    ],
  });
});

test('the files that other versions and --all run exist', () => {
  const exists = (path: string) => globSync(path, { cwd: checkout }).length > 0;
  const each = (text: string): string[] => {
    const [whole, names] = /\{([^}]*)\}/.exec(text) ?? [];
    if (!whole || !names) return [text];
    return names.split(',').flatMap((name) => each(text.replace(whole, name)));
  };
  expect([...named, ...slow.flatMap(each)].filter((path) => !exists(path))).toEqual([]);
});

test('an error outside the tests is a failure', async () => {
  const late = "test('good', () => void Promise.reject(new Error('nobody waits for this')));";
  expect(await reportOf({ 'late.test.ts': late })).toMatchObject({
    passed: 1,
    failed: 1,
    failures: [{ name: 'beside the tests', why: expect.stringMatching(/^nobody waits/) }],
  });
});

test('the summary has a line for each PostgreSQL, and says which were not tested', () => {
  const skipped = Array.from({ length: 22 }, (_, n) => ({ name: `test ${n}`, why: 'no moon' }));
  const failures = [{ name: 'test x', why: 'rain' }];
  const ran = { passed: 3, failed: 1, failures, what: 'test/sql/', seconds: 9 };
  const lines = summary([
    { ...ran, skipped: [], stack: { major: 15, name: 'PostgreSQL 15.1 here' } },
    { ...ran, skipped, stack: null, major: 18 },
    { major: 17, cannot: 'Use sudo.' },
  ]).split('\n');
  expect(lines[0]).toBe('PostgreSQL 15.1 here: 3 passed, 1 failed (test/sql/, 9 s)');
  expect(lines[1]).toBe('  FAILED: test x: rain');
  expect(lines[2]).toBe(
    'PostgreSQL 18, which did not start: 3 passed, 1 failed, 22 skipped (test/sql/, 9 s)',
  );
  expect(lines[4]).toBe('  SKIPPED: test 0: no moon');
  expect(lines.slice(-3)).toEqual([
    '  SKIPPED: and 2 more',
    'PostgreSQL 17: NOT TESTED. Use sudo.',
    '',
  ]);
});
