import type { Command } from 'commander';
import { visible } from './escape_control.ts';
import type { GlobalOptions } from './settings.ts';

export type Options<T = object> = T & GlobalOptions;

/** The command's own options and the global ones. */
export function optionsOf<T>(command: Command): Options<T> {
  return command.optsWithGlobals() as Options<T>;
}

/** Prints one JSON value with --json, otherwise text. */
export function print(options: GlobalOptions, value: unknown, text: () => string): void {
  const output = options.json ? `${JSON.stringify(value)}\n` : text();
  process.stdout.write(visible(output));
}

/** Prints a remark to stderr, so that stdout has only the table or the JSON. */
export function note(options: GlobalOptions, text: string | false): void {
  if (text && !options.json) process.stderr.write(visible(`${text}\n`));
}
