import { audit } from './check/audit.ts';
import { command } from './check/command.ts';
import { type Outcome, suite } from './check/suite.ts';
import { summary } from './check/summary.ts';
import { onOthers, onVersion, type Version } from './check/versions.ts';
import { buildDashboard } from './dashboard.ts';
import { installBrowser } from './stack/browser.ts';
import { aloud } from './stack/say.ts';

/** The checks that count as one each; vitest counts its tests. A new one goes here. */
const checks: { name: string; argv: string[] }[] = [
  { name: 'format and lint', argv: ['biome', 'check', '--error-on-warnings', '.'] },
  { name: 'types', argv: ['tsc', '--noEmit'] },
];

const given = process.argv.slice(2);
const all = given.includes('--all');
const args = given.filter((arg) => arg !== '--all');
const asked = Number(process.env.TOCK_TEST_POSTGRES);
const total = { passed: 0, failed: 0 };

/** Of what takes as long as it is told to: enough to see that it works. */
const short = {
  TOCK_TEST_QUICK: '1',
  TOCK_MODEL_RUNS: '2',
  TOCK_BESIDE_RUNS: '1',
  TOCK_FUZZ_RUNS: '15',
};

/** The files that are named, or the quick ones, on one PostgreSQL; by --all everything on ours and the rest on the others. */
async function tests(): Promise<(Outcome | Version)[]> {
  if (asked && args.length === 0) return [await onVersion(asked)];
  process.stdout.write(`- tests: vitest run ${args.join(' ')}\n`);
  if (args.length > 0) return [await suite(args.join(' '), args)];
  if (!all) return [await suite('the quick tests', [], { ...short, ...process.env })];
  const own = await suite('all tests', []);
  if (!own.stack) return [own];
  if (!process.env.TOCK_TEST_DATABASE_URL) return [own, ...(await onOthers(own.stack.major))];
  process.stdout.write('TOCK_TEST_DATABASE_URL is set: no other PostgreSQL was tested.\n');
  return [own];
}

/** Whether there are advisories against what users get; where nobody can say, that is said, loudly. */
async function advisories(): Promise<string> {
  const audited = await audit();
  if ('cannot' in audited) return `advisories: NOT ASKED. ${audited.cannot}\n`;
  const { found } = audited;
  if (found.length === 0) total.passed++;
  else total.failed++;
  return `advisories: ${found.length > 0 ? `FAILED: ${found.join('; ')}` : 'none'}\n`;
}

// Types, tests and the Worker import what it makes.
await buildDashboard();
if (args.length === 0 && !asked) await installBrowser(aloud);
for (const { name, argv } of args.length > 0 ? [] : checks) {
  process.stdout.write(`- ${name}: ${argv.join(' ')}\n`);
  const { succeeded, seconds } = await command(argv);
  process.stdout.write(`  ${succeeded ? 'passed' : 'FAILED'} in ${seconds} s\n`);
  if (succeeded) total.passed++;
  else total.failed++;
}
const known = args.length > 0 ? '' : await advisories();
const results = await tests();
for (const result of results) {
  if ('cannot' in result) {
    // Where it can't be had it is left out, loudly; but not when it is just what was asked for.
    if (asked) total.failed++;
    continue;
  }
  total.passed += result.passed;
  total.failed += result.failed;
}
const rest =
  all || asked || args.length > 0
    ? ''
    : 'Not run: loads, races, faults, other versions. Run: npm test -- --all\n';
process.stdout.write(
  `${summary(results)}${known}${rest}${total.passed} passed, ${total.failed} failed\n`,
);
process.exit(total.failed > 0 ? 1 : 0);
