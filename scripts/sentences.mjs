// Prints how many words the average and the longest sentence of each Markdown file have. Code, tables and headings
// don't count. Usage: npm run sentences [-- FILE...]; the default is all tracked files. If a named file has an average
// over 20 words or a sentence over 45, each such sentence is printed and the exit code is 1.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const maxAverage = 20;
const maxWords = 45;

/** The paragraphs and list items of a page, each as one line of text. */
function paragraphs(markdown) {
  const text = markdown
    .replace(/^```[\s\S]*?^```/gm, '')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/^(#|\s*\||\[[^\]]+\]: ).*$/gm, '');
  return text
    .split(/\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )/)
    .map((part) =>
      part
        .replace(/^\s*(?:[-*>]|\d+\.) /, '')
        .replace(/\s+/g, ' ')
        .trim(),
    )
    .filter((part) => part !== '');
}

/** The sentences of a paragraph. A piece of code in it counts as one word. */
function sentences(paragraph) {
  return paragraph
    .replace(/`[^`]*`/g, 'code')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[*_]{1,2}(?=\S)|(?<=\S)[*_]{1,2}/g, '')
    .replace(/\b(e\.g|i\.e|vs|etc)\./g, '$1')
    .split(/(?<=[.!?]["')]*) (?=["'(]?[A-Z0-9]|code)/)
    .filter((sentence) => /\w/.test(sentence));
}

const words = (sentence) => sentence.split(/\s+/).filter((word) => /\w/.test(word)).length;

const named = process.argv.slice(2);
const tracked = () =>
  execFileSync('git', ['ls-files', '*.md'], { encoding: 'utf8' }).trim().split('\n');
const rows = (named.length > 0 ? named : tracked()).map((file) => {
  const all = paragraphs(readFileSync(file, 'utf8')).flatMap(sentences);
  const counts = all.map(words);
  return {
    file,
    sentences: all.length,
    average: counts.reduce((sum, count) => sum + count, 0) / Math.max(all.length, 1),
    longest: Math.max(0, ...counts),
    tooLong: all.filter((sentence) => words(sentence) > maxWords),
  };
});

process.stdout.write('sentences  average  longest  file\n');
for (const row of rows) {
  const columns = [`${row.sentences}`.padStart(9), row.average.toFixed(1).padStart(7)];
  process.stdout.write(`${columns.join('  ')}  ${`${row.longest}`.padStart(7)}  ${row.file}\n`);
  for (const sentence of named.length > 0 ? row.tooLong : []) {
    process.stdout.write(`  ${words(sentence)} words: ${sentence}\n`);
  }
}
const failed = rows.some(({ average, tooLong }) => average > maxAverage || tooLong.length > 0);
process.exit(named.length > 0 && failed ? 1 : 0);
