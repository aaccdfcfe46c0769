import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';

const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: checkout, encoding: 'utf8' })
  .split('\n')
  .filter((path) => /^(docs\/.*|README|ARCHITECTURE|CONTRIBUTING)\.md$/.test(path));

test("a page's sentences have up to 45 words, and 20 on average", () => {
  expect(pages.length).toBeGreaterThan(30);
  // The script throws for a page with too long sentences; its output, which names them, is part of the error.
  execFileSync(process.execPath, ['scripts/sentences.mjs', ...pages], { cwd: checkout });
});

test('a decision has up to 60 lines, and stands in the index', () => {
  const read = (path: string) => readFileSync(join(checkout, path), 'utf8');
  const index = read('docs/decisions/README.md');
  for (const path of pages.filter((path) => /\/\d{4}-/.test(path))) {
    expect(read(path).trimEnd().split('\n').length, path).toBeLessThanOrEqual(60);
    expect(index, path).toContain(`(${path.split('/').at(-1)})`);
  }
});
