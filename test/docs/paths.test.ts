import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';

const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: checkout, encoding: 'utf8' })
  .split('\n')
  .filter((path) => /^(ARCHITECTURE|CONTRIBUTING|sql\/README|docs\/.*)\.md$/.test(path));

/** Names that are no paths of the checkout: patterns, fields of cron, URLs, what a build or the archive writes. */
const others =
  /\*|^[\d/-]+$|^(https?:|@|\.tock\/|dist\/|src\/|tock\/(client|receiver|worker|segment=N)|tock-client\/(node|receiver|sql|testing)$|&sslrootcert=)/;

test('each path that a page names in backquotes is there, from the root or from sql/', () => {
  const missing = pages.flatMap((page) => {
    const text = readFileSync(join(checkout, page), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
    const named = [...text.matchAll(/`([^`\s/]+\/[^`\s]*)`/g)].map(([, path]) => path as string);
    return named
      .filter((path) => !others.test(path))
      .filter((path) => !['', 'sql'].some((root) => existsSync(join(checkout, root, path))))
      .map((path) => `${page}: ${path}`);
  });
  expect(pages.length).toBeGreaterThan(30);
  expect(missing).toEqual([]);
});
