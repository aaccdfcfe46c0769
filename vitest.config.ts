import { defineConfig } from 'vitest/config';
import { report } from './test/report.ts';

// scripts/planted.ts plants its bugs in a copy.
const copied = ['client', 'functions'].flatMap((part) => {
  const directory = process.env[`TOCK_${part.toUpperCase()}_DIRECTORY`];
  const find = new RegExp(`^(?:\\.\\.\\/)+${part}\\/(?=[\\w/]+\\.ts$)`);
  return directory ? [{ find, replacement: `${directory}/` }] : [];
});

// These leave nothing behind in their process, so that one does many files: a third faster. Others mock and spy.
const alike = ['test/sql/**/*.test.ts', 'test/upgrade/**/*.test.ts'];
const each = {
  pool: 'forks' as const,
  testTimeout: 30_000,
  hookTimeout: 60_000,
  teardownTimeout: 30_000,
};

export default defineConfig({
  test: {
    globalSetup: ['test/setup.ts'],
    reporters: ['default', report],
    // The database works on the same cores: more files at once only makes every one slower.
    maxWorkers: 2,
    projects: [
      {
        resolve: { alias: copied },
        test: { ...each, name: 'sql', include: alike, isolate: false },
      },
      {
        resolve: { alias: copied },
        test: { ...each, name: 'all', include: ['test/**/*.test.ts'], exclude: alike },
      },
    ],
  },
});
