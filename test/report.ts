import { writeFileSync } from 'node:fs';
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import type { Named, Report } from '../scripts/check/suite.ts';

const nameOf = (test: TestCase) => `${test.module.relativeModuleId}: ${test.fullName}`;

function skip(test: TestCase): Named {
  const result = test.result();
  const why = (result.state === 'skipped' && result.note) || 'it does not say why';
  return { name: nameOf(test), why };
}

/** What the first of some errors says, on one line, and where in a test it was. */
function first(errors: readonly { message: string; stack?: string }[] | undefined): string {
  const [error] = errors ?? [];
  if (!error) return 'it never ran';
  const where = /[\w.-]+\.test\.ts:\d+/.exec(error.stack ?? '')?.[0];
  const what = error.message.replace(/\s+/g, ' ').slice(0, 500);
  return where ? `${what} (${where})` : what;
}

const fail = (test: TestCase): Named => ({ name: nameOf(test), why: first(test.result().errors) });
const broke = (module: TestModule): Named => ({
  name: module.relativeModuleId,
  why: first(module.errors()),
});

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
    const failures = [
      ...[...inState(all, 'failed'), ...inState(all, 'pending')].map(fail),
      ...broken.map(broke),
    ];
    if (failures.length === 0 && errors.length > 0) {
      failures.push({ name: 'beside the tests', why: first(errors) });
    }
    const text = process.env.TOCK_TEST_STACK;
    const result: Report = {
      stack: text ? JSON.parse(text) : null,
      passed: inState(all, 'passed').length,
      failed: failures.length,
      failures,
      skipped: inState(all, 'skipped').map(skip),
    };
    writeFileSync(file, JSON.stringify(result));
  },
};
