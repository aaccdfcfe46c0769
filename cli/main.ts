#!/usr/bin/env node
import { run } from './program.ts';

process.stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
  // A reader that closes early, such as head, is not an error.
  if (code === 'EPIPE') process.exit(0);
  process.stderr.write(`stdout cannot be written: ${message}.\n`);
  process.exit(1);
});
process.stderr.on('error', () => {});
process.exitCode = await run(process.argv.slice(2));
