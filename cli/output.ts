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
