import { globSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { slow } from './scripts/check/slow.ts';
import { report } from './test/report.ts';
import { conditionTimeout } from './test/timeout.ts';

// test/mutants/run.ts changes a copy.
const copied = ['client', 'functions'].flatMap((part) => {
  const directory = process.env[`TOCK_${part.toUpperCase()}_DIRECTORY`];
  const find = new RegExp(`^(?:\\.\\.\\/)+${part}\\/(?=[\\w/]+\\.ts$)`);
  return directory ? [{ find, replacement: `${directory}/` }] : [];
});

// A process does many of these files, which halves what they cost. One that mocks or sets something has a process of its own.
const shared = globSync(
  'test/{archive,cli,client,consumers,docs,http,model,push,scenarios,sql,upgrade}/**/*.test.ts',
);
const sets =
  /\bvi\.(mock|unmock|hoisted|spyOn|stub|useFake)|process\.(on|chdir)\(|process\.env\.\w+ = /;
const alike = shared.filter((file) => !sets.test(readFileSync(file, 'utf8')));
const left = process.env.TOCK_TEST_QUICK ? slow : [];
const each = {
  setupFiles: ['test/patient_connections.ts'],
  pool: 'forks' as const,
  // The database works on the same cores, but many tests wait: for pg_cron, for leases, for processes that start.
  maxWorkers: 3,
  // For what hangs: a test waits for several things, and each has its patience.
  testTimeout: 5 * conditionTimeout,
  hookTimeout: 5 * conditionTimeout,
  teardownTimeout: 60_000,
  expect: { poll: { timeout: conditionTimeout } },
  // The line of a failed test shows the whole answer, such as the detail of a 503.
  chaiConfig: { truncateThreshold: 400 },
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
          name: 'alone',
          include: ['test/**/*.test.ts'],
          exclude: [...alike, ...left],
        },
      },
      {
        resolve: { alias: copied },
        test: { ...each, name: 'alike', include: alike, exclude: left, isolate: false },
      },
    ],
  },
});
