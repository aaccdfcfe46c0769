import { writeFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import type { Reporter, TestCase, TestModule } from 'vitest/node';
import type { Named, Report } from '../scripts/check/suite.ts';

const nameOf = (test: TestCase) => `${test.module.relativeModuleId}: ${test.fullName}`;

function skip(test: TestCase): Named {
  const result = test.result();
  const why = (result.state === 'skipped' && result.note) || 'it does not say why';
  return { name: nameOf(test), why };
}

/** On one line. Of a long message the start and the end stay: the output of a program ends with the reason. */
function shorten(message: string): string {
  const line = stripVTControlCharacters(message).replace(/\s+/g, ' ').trim();
  return line.length <= 1500 ? line : `${line.slice(0, 500)} [...] ${line.slice(-1000)}`;
}

/** The message of the first error, and its place in the test file. */
function first(errors: readonly { message: string; stack?: string }[] | undefined): string {
  const [error] = errors ?? [];
  if (!error) return 'it never ran';
  const where = /[\w.-]+\.test\.ts:\d+/.exec(error.stack ?? '')?.[0];
  const what = shorten(error.message);
  return where ? `${what} (${where})` : what;
}

const fail = (test: TestCase): Named => ({ name: nameOf(test), why: first(test.result().errors) });
const broke = (module: TestModule): Named => ({
  name: module.relativeModuleId,
  why: first(module.errors()),
});

/**
 * A reporter of vitest that says at once why a test failed, and at the end writes a Report to the file
 * TOCK_TEST_REPORT. It counts every test, and every file that failed outside of its tests.
 */
export const report: Reporter = {
  onTestCaseResult(test) {
    if (test.result().state !== 'failed') return;
    const { name, why } = fail(test);
    console.error(`  FAILED: ${name}: ${why}`);
  },
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
    // A test that is still pending never ran, because its file or the whole run was stopped.
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
