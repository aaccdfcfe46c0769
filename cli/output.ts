import type { Command } from 'commander';
import { visible } from './plain.ts';
import type { GlobalOptions } from './settings.ts';

export type Options<T = object> = T & GlobalOptions;

/** A command's own options and those that every command takes. */
export function optionsOf<T>(command: Command): Options<T> {
  return command.optsWithGlobals() as Options<T>;
}

/** One JSON value with --json, else the text for people. */
export function print(options: GlobalOptions, value: unknown, text: () => string): void {
  const out = options.json ? `${JSON.stringify(value)}\n` : text();
  process.stdout.write(visible(out));
}

/** What is said beside a list goes to stderr, so that a script reads a table or JSON, and nothing else. */
export function note(options: GlobalOptions, text: string | false): void {
  if (text && !options.json) process.stderr.write(visible(`${text}\n`));
}
