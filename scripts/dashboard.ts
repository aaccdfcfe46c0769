import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { checkout } from './stack/place.ts';

const source = join(checkout, 'dashboard');
/** What the Worker imports: not in the repository, so whoever needs it makes it first. */
const built = join(checkout, 'functions', 'dashboard', 'built.ts');

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 12);

/** Makes one page, one script and one style sheet of dashboard/; returns whether anything is new. */
export async function buildDashboard(): Promise<boolean> {
  const { outputFiles } = await build({
    entryPoints: [join(source, 'main.tsx')],
    outdir: 'out',
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'error',
  });
  const named = outputFiles.map(({ path, text }) => {
    const kind = path.endsWith('.css') ? 'css' : 'js';
    return { kind, name: `app.${hashOf(text)}.${kind}`, text };
  });
  let page = readFileSync(join(source, 'index.html'), 'utf8');
  for (const { kind, name } of named) page = page.replace(`/${kind.toUpperCase()}"`, `/${name}"`);
  const assets = Object.fromEntries(named.map(({ name, text }) => [name, text]));
  const text = [
    '// Made by scripts/dashboard.ts from dashboard/.',
    `export const page: string = ${JSON.stringify(page)};`,
    `export const assets: Record<string, string> = ${JSON.stringify(assets)};`,
    '',
  ].join('\n');
  if (existsSync(built) && readFileSync(built, 'utf8') === text) return false;
  mkdirSync(dirname(built), { recursive: true });
  // Whole or not at all: others may read it at this moment.
  const part = `${built}.${process.pid}`;
  writeFileSync(part, text);
  renameSync(part, built);
  return true;
}

if (import.meta.main) await buildDashboard();
