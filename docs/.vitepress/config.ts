import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'vitepress';
import llmstxt from 'vitepress-plugin-llms';

const docs = join(import.meta.dirname, '..');

/** The first heading of a page. */
const titleOf = (page: string) =>
  /^# (.*)$/m.exec(readFileSync(join(docs, page), 'utf8'))?.[1] ?? page;

const linkTo = (page: string) => ({ text: titleOf(page), link: `/${page.replace(/\.md$/, '')}` });

/** All pages of a folder, by title. */
const pagesOf = (folder: string) =>
  readdirSync(join(docs, folder))
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .map((file) => linkTo(`${folder}/${file}`))
    .toSorted((a, b) => a.text.localeCompare(b.text));

/** The folders with a README, which is their first page. */
const folders = ['decisions', 'moving-in', 'quickstarts'];
const readme = new RegExp(`^((?:\\.\\./)?(?:${folders.join('|')})/)?README\\.md(?=#|$)`);
/** Links that leave docs/ lead to files of the repository, which the site does not have. */
const outside =
  /^(\.\/)?(\.\.\/)+(README|CHANGELOG|CONTRIBUTING|ARCHITECTURE|sql|bench|examples|monitoring|test|scripts)/;

/** Fits the links of the repository to the site: a README is an index, and a link that leaves docs/ becomes text. */
function fitLinks(tokens: { type: string; content: string; attrs: [string, string][] | null }[]) {
  let leaves = false;
  for (const token of tokens) {
    const href = token.type === 'link_open' && token.attrs?.find(([name]) => name === 'href');
    if (href) {
      leaves = outside.test(href[1]);
      href[1] = href[1].replace(readme, '$1index.md');
    }
    if (leaves && /^link_/.test(token.type)) Object.assign(token, { type: 'text', content: '' });
  }
}

export default defineConfig({
  title: 'Tock',
  description: 'A task queue and scheduler that lives in PostgreSQL',
  cleanUrls: true,
  rewrites: Object.fromEntries(
    ['', ...folders.map((folder) => `${folder}/`)].map((path) => [
      `${path}README.md`,
      `${path}index.md`,
    ]),
  ),
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Guides', link: '/guides/workers' },
      { text: 'Reference', link: '/reference/http' },
      { text: 'Compare', link: '/comparison' },
    ],
    sidebar: [
      { text: 'Start', items: ['getting-started.md', 'concepts.md', 'glossary.md'].map(linkTo) },
      { text: 'Quickstarts', link: '/quickstarts/', items: pagesOf('quickstarts') },
      { text: 'Guides', items: pagesOf('guides') },
      { text: 'Recipes', items: pagesOf('recipes'), collapsed: true },
      { text: 'Other clients', items: pagesOf('compat'), collapsed: true },
      { text: 'Operating', items: [linkTo('deploy.md'), ...pagesOf('operating')], collapsed: true },
      { text: 'Reference', items: pagesOf('reference'), collapsed: true },
      { text: 'Errors', items: pagesOf('errors'), collapsed: true },
      { text: 'Findings', items: pagesOf('findings'), collapsed: true },
      {
        text: 'Choosing',
        items: ['comparison.md', 'steps-compared.md', 'seeds.md', 'licences.md'].map(linkTo),
        collapsed: true,
      },
      {
        text: 'Moving in',
        link: '/moving-in/',
        items: pagesOf('moving-in'),
        collapsed: true,
      },
      { text: 'Decisions', items: pagesOf('decisions'), collapsed: true },
    ],
  },
  markdown: {
    config(md) {
      md.core.ruler.push('links', ({ tokens }) =>
        fitLinks(tokens.flatMap(({ children }) => children ?? [])),
      );
    },
    // The anchors of GitHub, which the links of the pages name.
    anchor: {
      slugify: (title: string) =>
        title
          .trim()
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
          .replaceAll(' ', '-'),
    },
  },
  vite: { plugins: [llmstxt()] },
});
