import { writeFileSync } from 'node:fs';
import type { Reporter, TestCase } from 'vitest/node';
import type { Stack } from './database.ts';

/** What a run came to; scripts/check.ts adds the runs up. */
export type Report = {
  /** What it ran on; null when that did not start. */
  stack: Pick<Stack, 'major' | 'name'> | null;
  passed: number;
  failed: number;
  skipped: { name: string; why: string }[];
};

function skip(test: TestCase): Report['skipped'][number] {
  const result = test.result();
  const why = (result.state === 'skipped' && result.note) || 'it does not say why';
  return { name: `${test.module.relativeModuleId}: ${test.fullName}`, why };
}

/**
 * A reporter that writes a Report to the file TOCK_TEST_REPORT. Every test counts, and so does a file
 * that broke outside of any.
 */
export const report: Reporter = {
  onTestRunEnd(modules, errors) {
    const file = process.env.TOCK_TEST_REPORT;
    if (!file) return;
    const inState = (tests: Iterable<TestCase>, state: string) =>
      [...tests].filter((test) => test.result().state === state);
    const all = modules.flatMap((module) => [...module.children.allTests()]);
    const broken = modules.filter(
      (module) =>
        module.state() === 'failed' && inState(module.children.allTests(), 'failed').length === 0,
    );
    // A test that is pending at the end never ran: its file, or the run, was given up.
    const failed = [...inState(all, 'failed'), ...inState(all, 'pending'), ...broken].length;
    const text = process.env.TOCK_TEST_STACK;
    const result: Report = {
      stack: text ? JSON.parse(text) : null,
      passed: inState(all, 'passed').length,
      failed: failed || (errors.length > 0 ? 1 : 0),
      skipped: inState(all, 'skipped').map(skip),
    };
    writeFileSync(file, JSON.stringify(result));
  },
};
