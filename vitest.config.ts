import { defineConfig } from 'vitest/config';
import { report } from './test/report.ts';

// scripts/planted.ts plants its bugs in a copy.
const client = process.env.TOCK_CLIENT_DIRECTORY;
const copied = { find: /^(?:\.\.\/)+client\/(?=[\w/]+\.ts$)/, replacement: `${client}/` };

export default defineConfig({
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
