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

export default defineConfig({
  title: 'Tock',
  description: 'A task queue and scheduler that lives in PostgreSQL',
  cleanUrls: true,
  rewrites: Object.fromEntries(
    ['', 'decisions/', 'moving-in/', 'quickstarts/'].map((folder) => [
      `${folder}README.md`,
      `${folder}index.md`,
    ]),
  ),
  // Links that leave this folder lead to files of the repository, which the site does not have.
  ignoreDeadLinks: [
    /^(\.\/)?(\.\.\/)+(README|CHANGELOG|CONTRIBUTING|ARCHITECTURE|sql|bench|examples|monitoring|test|scripts)/,
  ],
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
      { text: 'Operating', items: [linkTo('deploy.md'), ...pagesOf('operating')], collapsed: true },
      { text: 'Reference', items: pagesOf('reference'), collapsed: true },
      { text: 'Errors', items: pagesOf('errors'), collapsed: true },
      {
        text: 'Choosing',
        items: ['comparison.md', 'seeds.md', 'licences.md'].map(linkTo),
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
  // The anchors of GitHub, which the links of the pages name.
  markdown: {
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
