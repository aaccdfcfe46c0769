import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { checkout, home } from './stack/place.ts';
import { ended } from './stack/run.ts';

/** The checks that count as one each; vitest counts its tests. A new one goes here. */
const checks: { name: string; argv: string[] }[] = [
  { name: 'format and lint', argv: ['biome', 'check', '--error-on-warnings', '.'] },
  { name: 'types', argv: ['tsc', '--noEmit'] },
];

let running: ReturnType<typeof spawn> | null = null;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => running?.kill(name));
}

async function succeeds([program = '', ...args]: string[]): Promise<boolean> {
  const child = spawn(program, args, { cwd: checkout, stdio: 'inherit' });
  running = child;
  await ended(child);
  if (child.signalCode) process.exit(130);
  return child.exitCode === 0;
}

type Count = { passed: number; failed: number };

/** Every test counts, and so does a file, or a run, that broke outside of any test. */
function count(report: string, succeeded: boolean): Count {
  if (!existsSync(report)) return { passed: 0, failed: 1 };
  const result = JSON.parse(readFileSync(report, 'utf8'));
  const files: { status: string; assertionResults: { status: string }[] }[] = result.testResults;
  const broken = files.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
  );
  const failed: number = result.numFailedTests + broken.length;
  return { passed: result.numPassedTests, failed: failed || (succeeded ? 0 : 1) };
}

async function tests(args: string[]): Promise<Count> {
  const report = join(home(), `vitest-${process.pid}.json`);
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const succeeded = await succeeds(['vitest', 'run', ...reporters, ...args]);
  const result = count(report, succeeded);
  rmSync(report, { force: true });
  return result;
}

const args = process.argv.slice(2);
const total: Count = { passed: 0, failed: 0 };
for (const { name, argv } of args.length > 0 ? [] : checks) {
  process.stdout.write(`- ${name}: ${argv.join(' ')}\n`);
  if (await succeeds(argv)) total.passed++;
  else total.failed++;
}
process.stdout.write('- tests: vitest run\n');
const { passed, failed } = await tests(args);
total.passed += passed;
total.failed += failed;
process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`);
process.exit(total.failed > 0 ? 1 : 0);
