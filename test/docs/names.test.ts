import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { program } from '../../cli/program.ts';
import { openApiDocument, operationsOf } from '../../scripts/docs/openapi.ts';
import { checkout } from '../../scripts/stack/paths.ts';

const pages = execFileSync('git', ['ls-files', 'README.md', 'docs', 'examples'], {
  cwd: checkout,
  encoding: 'utf8',
})
  .split('\n')
  .filter((path) => path.endsWith('.md') && !path.startsWith('docs/decisions/'));

const named = (pattern: RegExp) =>
  pages.flatMap((page) =>
    [...readFileSync(join(checkout, page), 'utf8').matchAll(pattern)].map((match) => ({
      page,
      match,
    })),
  );

test('each route that a page names exists', async () => {
  const routes = operationsOf(await openApiDocument()).map(({ method, path }) => {
    const pattern = path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/?]+');
    return new RegExp(`^${method} ${pattern}$`);
  });
  const all = named(/\b(GET|POST|PUT|PATCH|DELETE) (\/(?:v1\/|metrics)[^\s`'",?)\]]*)/g);
  expect(all.length).toBeGreaterThan(50);
  const unknown = all
    .map(({ page, match: [, method, path = ''] }) => ({
      page,
      route: `${method} ${path.replace(/[.;:]$/, '')}`,
    }))
    .filter(({ route }) => !routes.some((known) => known.test(route)))
    .map(({ page, route }) => `${page}: ${route}`);
  expect(unknown).toEqual([]);
});

/** The command that these words begin with, and the words after it; null if there is none. */
function resolve(of: Command, words: string[]): { command: Command; rest: string[] } | null {
  const [first = '', ...rest] = words;
  const command = of.commands.find((one) => one.name() === first || one.aliases().includes(first));
  if (command) return resolve(command, rest) ?? { command, rest };
  return null;
}

test('each command that a page names exists, with these options', () => {
  const tock = program();
  const all = named(/(?:`|^\$ |^|\| |&& |; )(?:npm run )?tock (?:-- )?([a-z][^`\n]*)/gm);
  expect(all.length).toBeGreaterThan(60);
  const shared = tock.options.flatMap(({ long }) => long ?? []);
  const wrong = all.flatMap(({ page, match: [, text = ''] }) => {
    const words = text.split(/\s+/);
    if (words[0] === 'help' || words[0] === 'completion') return [];
    const found = resolve(tock, words);
    if (found === null) return [`${page}: tock ${text}`];
    const { command, rest } = found;
    if (command.commands.length > 0 && rest.length > 0) return [`${page}: tock ${text}`];
    const known = [...shared, '--help', ...command.options.flatMap(({ long }) => long ?? [])];
    return rest
      .map((word) => /^--[a-z][a-z-]*/.exec(word)?.[0])
      .filter((option) => option !== undefined && !known.includes(option))
      .map((option) => `${page}: tock ${text}: ${option}`);
  });
  expect(wrong).toEqual([]);
});
