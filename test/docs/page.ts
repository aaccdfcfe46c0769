import { execute } from '../cli/tock.ts';

const answer = '```text\\n[\\s\\S]*?^```\\n';
const example = new RegExp(`^\`\`\`sql\\n([\\s\\S]*?)^\`\`\`\\n((?:\\n${answer})*)`, 'gm');
const stray = new RegExp(`(?<!^\`\`\`\\n\\n)^${answer}`, 'gm');
const mark = '-- the next block';

/** The text under each `###` heading. The keys have the form `## heading: ### heading`. */
export function sections(page: string): Map<string, string> {
  const byTitle = new Map<string, string>();
  let above = '';
  for (const part of page.split(/^(?=##+ )/m)) {
    const [, level, title = ''] = /^(##+) (.*)/.exec(part) ?? [];
    if (level === '##') above = title;
    if (level === '###') byTitle.set(`${above}: ${title}`, part);
  }
  return byTitle;
}

/** The SQL of the code blocks in a text, in order. */
export function sqlOf(text: string): string[] {
  return [...text.matchAll(example)].map(([, sql = '']) => sql);
}

/**
 * The sections that fail: their SQL does not show a feature that Tock has, or their text does not say "Not yet" about a
 * feature that it lacks.
 */
export function unshown(page: string, shows: Record<string, RegExp>, known: string[]): string[] {
  const byTitle = sections(page);
  return Object.entries(shows).flatMap(([name, what]) => {
    const text = byTitle.get(name) ?? '';
    const later = /Not yet/.test(text);
    const has = known.some((knownName) => what.test(knownName));
    const good = has ? what.test(sqlOf(text).join('')) && !later : later;
    return good ? [] : [name];
  });
}

/** True if this machine has psql. */
export async function hasPsql(): Promise<boolean> {
  const { code } = await execute(['psql', '--version'], {}).catch(() => ({ code: 1 }));
  return code === 0;
}

/** What psql prints for each block, in one session. A null block is skipped. Throws if psql reports an error. */
export async function printed(url: string, blocks: (string | null)[]) {
  const input = blocks.map((sql) => `${sql ?? ''}\\echo ${mark}\n`).join('');
  const env = { PGCLIENTENCODING: 'UTF8', PGTZ: 'UTC' };
  const { out, err } = await execute(['psql', '-X', '-f', '-', url], { input, env });
  if (err) throw new Error(err);
  const texts = out.replace(/[ \t]+$/gm, '').split(`${mark}\n`);
  return blocks.map((sql, n) => (sql === null ? null : (texts[n] ?? '').replace(/\n+$/, '')));
}

/** The page with each block's answer after the block, instead of older answers. For null the old answer stays. */
export function answered(page: string, answers: (string | null)[]): string {
  let n = 0;
  return page.replace(stray, '').replace(example, (whole, sql) => {
    const shownAnswer = answers[n++];
    const block = `\`\`\`sql\n${sql}\`\`\`\n`;
    if (shownAnswer === null) return whole;
    return shownAnswer ? `${block}\n\`\`\`text\n${shownAnswer}\n\`\`\`\n` : block;
  });
}
