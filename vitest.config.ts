import { defineConfig } from 'vitest/config';
import { report } from './test/report.ts';

export default defineConfig({
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
