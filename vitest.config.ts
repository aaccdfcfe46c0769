import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { report } from './test/report.ts';

// scripts/planted.ts plants its bugs in a copy.
const client = process.env.TOCK_CLIENT_DIRECTORY;
const copied = { find: /^(?:\.\.\/)+client\/(?=[\w/]+\.ts$)/, replacement: `${client}/` };

// A copy of one file of functions/, which has its imports from where it stands.
const functions = process.env.TOCK_FUNCTIONS_DIRECTORY;
const instead = {
  name: 'planted',
  enforce: 'pre' as const,
  load(id: string) {
    const copy = join(functions ?? '', relative(join(import.meta.dirname, 'functions'), id));
    return functions && existsSync(copy) ? readFileSync(copy, 'utf8') : null;
  },
};

export default defineConfig({
  plugins: [instead],
  resolve: { alias: client ? [copied] : [] },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/setup.ts'],
    reporters: ['default', report],
    pool: 'forks',
    // The database works on the same cores: more files at once only makes every one slower.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 30_000,
  },
});
