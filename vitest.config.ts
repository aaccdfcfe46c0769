import { defineConfig } from 'vitest/config';
import { report } from './test/report.ts';

// scripts/planted.ts plants its bugs in a copy.
const copied = ['client', 'functions', 'bench'].flatMap((part) => {
  const directory = process.env[`TOCK_${part.toUpperCase()}_DIRECTORY`];
  const find = new RegExp(`^(?:\\.\\.\\/)+${part}\\/(?=[\\w/]+\\.ts$)`);
  return directory ? [{ find, replacement: `${directory}/` }] : [];
});

// These leave nothing behind in their process, so that one does many files. Others mock and spy.
const alike = ['test/sql/**/*.test.ts', 'test/upgrade/**/*.test.ts'];
const each = {
  pool: 'forks' as const,
  testTimeout: 60_000,
  hookTimeout: 120_000,
  teardownTimeout: 30_000,
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
          exclude: alike,
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
          isolate: false,
          // The database works on the same cores: more files at once only makes every one slower.
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
