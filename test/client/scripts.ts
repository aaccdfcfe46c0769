import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from '../../scripts/stack/paths.ts';
import { clientBundle } from './bundle.ts';

/** The text of the page's first script that imports `entry`. */
function script(page: string, entry: string): string {
  const markdown = readFileSync(join(checkout, page), 'utf8');
  const all = [...markdown.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  const code = all.find((text) => text.includes(`'${entry}'`));
  if (!code) throw new Error(`${page} has no script with ${entry}.`);
  return (
    code
      .replace("'pg'", `'${import.meta.resolve('pg')}'`)
      // What package.json says for Node, Bun and Deno.
      .replace("'tock/client'", "'tock/client/node'")
  );
}

export type Running = { child: ChildProcess; out(): string; ended: Promise<number | null> };

/** Starts the page's script that imports `entry` as a process, with this command. */
export async function startScript(
  page: string,
  entry: string,
  folder: string,
  env: Record<string, string>,
  [program = '', ...args]: string[] = [process.execPath],
): Promise<Running> {
  const file = join(folder, `${`${page}-${entry}`.replaceAll('/', '-')}.mjs`);
  writeFileSync(file, (await clientBundle(script(page, entry))).code);
  const child = spawn(program, [...args, file], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    out += text;
  });
  return { child, out: () => out, ended: new Promise((end) => child.on('exit', end)) };
}
