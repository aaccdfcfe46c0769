import { join } from 'node:path';
import { audit } from './check/audit.ts';
import { command } from './check/command.ts';
import { type Outcome, suite } from './check/suite.ts';
import { summary } from './check/summary.ts';
import { onOthers, onVersion, type Version } from './check/versions.ts';
import { buildModules } from './modules/build.ts';
import { installBrowser } from './stack/browser.ts';
import { home } from './stack/paths.ts';
import { aloud } from './stack/step_reporter.ts';

/** The checks beside the tests. In the total each counts as one. Add new checks here. */
const checks: { name: string; argv: string[] }[] = [
  { name: 'format and lint', argv: ['biome', 'check', '--error-on-warnings', '.'] },
  { name: 'types', argv: ['tsc', '--noEmit'] },
];

const allArgs = process.argv.slice(2);
const all = allArgs.includes('--all');
const args = allArgs.filter((arg) => arg !== '--all');
const requestedMajor = Number(process.env.TOCK_TEST_POSTGRES);
const total = { passed: 0, failed: 0 };

/** Settings that make long tests short, but still show that they work. */
const short = {
  TOCK_TEST_QUICK: '1',
  TOCK_MODEL_RUNS: '2',
  TOCK_BESIDE_RUNS: '1',
  TOCK_FUZZ_RUNS: '15',
};

/**
 * Runs the given files, or the quick tests, on one PostgreSQL. With --all it runs all tests on the default version, and
 * those that depend on PostgreSQL on the other versions.
 */
async function tests(): Promise<(Outcome | Version)[]> {
  if (requestedMajor && args.length === 0) return [await onVersion(requestedMajor)];
  process.stdout.write(`- tests: vitest run ${args.join(' ')}\n`);
  if (args.length > 0) return [await suite(args.join(' '), args)];
  if (!all) return [await suite('the quick tests', [], { ...short, ...process.env })];
  const defaultSuite = await suite('all tests', []);
  if (!defaultSuite.stack) return [defaultSuite];
  if (!process.env.TOCK_TEST_DATABASE_URL)
    return [defaultSuite, ...(await onOthers(defaultSuite.stack.major))];
  process.stdout.write('TOCK_TEST_DATABASE_URL is set: no other PostgreSQL was tested.\n');
  return [defaultSuite];
}

/** Reports advisories for the packages that users get, or that the registry gave no answer. */
async function advisories(): Promise<string> {
  const audited = await audit();
  if ('cannot' in audited) return `advisories: NOT CHECKED. ${audited.cannot}\n`;
  const { found: problems } = audited;
  if (problems.length === 0) total.passed++;
  else total.failed++;
  return `advisories: ${problems.length > 0 ? `FAILED: ${problems.join('; ')}` : 'none'}\n`;
}

// With Node's compile cache the processes that tests start, such as the CLI, are ready in a third of the time. It is in a
// folder of this checkout, because other users could write compiled code into a shared one.
process.env.NODE_COMPILE_CACHE ??= join(home(), 'compiled');
// The type check, tests and the Worker import the built modules.
await buildModules();
if (args.length === 0 && !requestedMajor) await installBrowser(aloud);
for (const { name, argv } of args.length > 0 ? [] : checks) {
  process.stdout.write(`- ${name}: ${argv.join(' ')}\n`);
  const { succeeded, seconds } = await command(argv);
  process.stdout.write(`  ${succeeded ? 'passed' : 'FAILED'} in ${seconds} s\n`);
  if (succeeded) total.passed++;
  else total.failed++;
}
const advisoryLines = args.length > 0 ? '' : await advisories();
const results = await tests();
for (const result of results) {
  if ('cannot' in result) {
    // An unavailable version fails only if it was requested; otherwise the summary says that it was not tested.
    if (requestedMajor) total.failed++;
    continue;
  }
  total.passed += result.passed;
  total.failed += result.failed;
}
const rest =
  all || requestedMajor || args.length > 0
    ? ''
    : 'Not run: loads, races, faults, other versions. Run: npm test -- --all\n';
process.stdout.write(
  `${summary(results)}${advisoryLines}${rest}${total.passed} passed, ${total.failed} failed\n`,
);
process.exit(total.failed > 0 ? 1 : 0);
