#!/usr/bin/env node
import { run } from './program.ts';

// A reader that has seen enough, such as head, is no failure.
process.stdout.on('error', () => process.exit(0));
process.exitCode = await run(process.argv.slice(2));
