import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from '../stack/paths.ts';

/** The Worker's settings, from the comments of `Bindings` in functions/env.ts. */
export function settingsReference(): string {
  const source = readFileSync(join(checkout, 'functions', 'env.ts'), 'utf8');
  const [, type = ''] = /export type Bindings = \{\n([\s\S]*?)\n\};/.exec(source) ?? [];
  let comment = '';
  const rows = type.split('\n').flatMap((line) => {
    const [, text] = /\/\*\* (.*) \*\//.exec(line) ?? [];
    if (text) comment = text;
    const [, name, kind] = /^ {2}(\w+)\?: (.*);$/.exec(line) ?? [];
    if (!name) return [];
    const binding = kind === 'string' ? 'variable or secret' : 'binding';
    return [`| \`${name}\` | ${binding} | ${comment} |`];
  });
  return `| setting | kind | meaning |\n|---|---|---|\n${rows.join('\n')}`;
}
