// Plants one mutant after another in a copy of its folder, and prints whether the mutant's test fails. Usage:
// node test/mutants/run.ts [part of a mutant's name or of its test's file] ...
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkout } from '../../scripts/stack/paths.ts';
import { ended } from '../../scripts/stack/run.ts';
import { type Mutant, mutants } from './mutants.ts';
import { plant } from './plant.ts';

type Report = {
  testResults: {
    assertionResults: { status: string; title: string; failureMessages: string[] }[];
  }[];
};

/** The failure of the mutant's test in one line; null if the test passed. */
async function failure(mutant: Mutant, folder: string, place: object): Promise<string | null> {
  const report = join(folder, 'report.json');
  const [file, name] = mutant.caught;
  const pattern = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const out = ['--reporter=json', `--outputFile.json=${report}`];
  const child = spawn('vitest', ['run', join('test', file), '-t', pattern, ...out], {
    cwd: checkout,
    // With most mutants a test waits for something that never comes, so its patience is short.
    env: { ...process.env, TOCK_TEST_PATIENCE: '20', ...place },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr?.on('data', (data) => {
    errors += data;
  });
  await ended(child);
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as Report;
  const results = testResults.flatMap((testResult) => testResult.assertionResults);
  const ran = results.filter((result) => result.status === 'passed' || result.status === 'failed');
  if (ran.length === 0)
    throw new Error(`${file} ran no test named ${name}. ${errors.slice(0, 500)}`);
  const failed = ran.find((result) => result.status === 'failed');
  if (!failed) return null;
  const [message = ''] = failed.failureMessages;
  // With such an error the mutant itself is wrong: any test would have failed.
  if (/^error: (syntax error|.* does not exist)/.test(message))
    throw new Error(message.split('\n')[0]);
  return (message.split('\n')[0] ?? '')
    .replace('Error: STACK_TRACE_ERROR', 'timed out')
    .slice(0, 160);
}

const parts = process.argv.slice(2);
const isRequested = (mutant: Mutant) =>
  parts.some((part) => `${mutant.name} ${mutant.caught[0]}`.includes(part));
const chosen = mutants.filter((mutant) => parts.length === 0 || isRequested(mutant));
let missed = 0;
for (const mutant of chosen) {
  const folder = mkdtempSync(join(tmpdir(), 'tock-mutants-'));
  try {
    const how = await failure(mutant, folder, plant(mutant, folder));
    if (how === null) missed++;
    const outcome = how === null ? 'NOT CAUGHT' : `caught: ${how}`;
    process.stdout.write(`${mutant.name} (${mutant.caught[0]})\n    ${outcome}\n`);
  } catch (error) {
    missed++;
    process.stdout.write(
      `${mutant.name} (${mutant.caught[0]})\n    BROKEN: ${(error as Error).message}\n`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
process.stdout.write(`${chosen.length - missed} of ${chosen.length} caught\n`);
process.exitCode = missed > 0 || chosen.length === 0 ? 1 : 0;
