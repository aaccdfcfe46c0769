import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';

const pages = execFileSync('git', ['ls-files', '*.md'], { cwd: checkout, encoding: 'utf8' })
  .split('\n')
  .filter((path) => path !== '' && !path.startsWith('bench/results/'));

const prose = (page: string) =>
  readFileSync(join(checkout, page), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');

/** The anchors of a page's headings, as GitHub and VitePress make them. */
const anchors = (page: string) =>
  [...prose(page).matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );

test('each link of a page leads to a file and a heading that exist', () => {
  const broken = pages.flatMap((page) =>
    [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = '']) => link)
      .filter((link) => !/^[a-z]+:/.test(link))
      .filter((link) => {
        const [path = '', anchor] = link.split('#');
        const file = path === '' ? page : normalize(join(dirname(page), path));
        if (!existsSync(join(checkout, file))) return true;
        // The site of the docs has no page for one of its folders.
        const isOfSite = page.startsWith('docs/') && file.startsWith('docs/');
        if (isOfSite && statSync(join(checkout, file)).isDirectory()) return true;
        return anchor !== undefined && !anchors(file).includes(anchor);
      })
      .map((link) => `${page}: ${link}`),
  );
  expect(pages.length).toBeGreaterThan(70);
  expect(broken).toEqual([]);
});

test('the README has up to 200 lines, and the index of the docs names each guide', () => {
  const lines = readFileSync(join(checkout, 'README.md'), 'utf8').trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(200);
  const index = prose('docs/README.md');
  const unnamed = pages.filter(
    (page) =>
      /^docs\/(guides|moving-in|operating|quickstarts|reference)\//.test(page) &&
      !index.includes(`(${page.replace('docs/', '')})`),
  );
  expect(unnamed).toEqual([]);
});
