import { defineConfig } from 'vitest/config';
import { slow } from './scripts/check/slow.ts';
import { patience } from './test/patience.ts';
import { report } from './test/report.ts';

// scripts/planted.ts plants its bugs in a copy.
const copied = ['client', 'functions', 'bench'].flatMap((part) => {
  const directory = process.env[`TOCK_${part.toUpperCase()}_DIRECTORY`];
  const find = new RegExp(`^(?:\\.\\.\\/)+${part}\\/(?=[\\w/]+\\.ts$)`);
  return directory ? [{ find, replacement: `${directory}/` }] : [];
});

// These leave nothing behind in their process, so that one does many files. Others mock and spy.
const alike = ['test/sql/**/*.test.ts', 'test/upgrade/**/*.test.ts'];
const left = process.env.TOCK_TEST_QUICK ? slow : [];
const each = {
  pool: 'forks' as const,
  // For what hangs: a test waits for several things, and each has its patience.
  testTimeout: 5 * patience,
  hookTimeout: 5 * patience,
  teardownTimeout: 60_000,
  expect: { poll: { timeout: patience } },
};

export default defineConfig({
  test: {
    globalSetup: ['test/setup.ts'],
    reporters: ['default', report],
    projects: [
      {
        resolve: { alias: copied },
        test: {
          ...each,
          name: 'rest',
          include: ['test/**/*.test.ts'],
          exclude: [...alike, ...left],
          // Many of them wait: for pg_cron, for leases, for processes that start.
          maxWorkers: 3,
          sequence: { groupOrder: 0 },
        },
      },
      {
        resolve: { alias: copied },
        test: {
          ...each,
          name: 'sql',
          include: alike,
          exclude: left,
          isolate: false,
          // The database works on the same cores: more files at once only makes every one slower.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
