import { defineConfig } from 'vitest/config';
import { report } from './test/report.ts';

// scripts/planted.ts plants its bugs in a copy.
const copied = ['client', 'functions'].flatMap((part) => {
  const directory = process.env[`TOCK_${part.toUpperCase()}_DIRECTORY`];
  const find = new RegExp(`^(?:\\.\\.\\/)+${part}\\/(?=[\\w/]+\\.ts$)`);
  return directory ? [{ find, replacement: `${directory}/` }] : [];
});

export default defineConfig({
  resolve: { alias: copied },
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
