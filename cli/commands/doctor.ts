import type { Command } from 'commander';
import { withDatabase } from '../connect.ts';
import { clocks, pooling, versions } from '../diagnosis.ts';
import { type Finding, throughDoor } from '../doors/door.ts';
import { Failure } from '../failure.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { way } from '../settings.ts';

function described({ finding, severity, detail, hint }: Finding): string {
  return `${severity}: ${finding}\n${[detail, hint]
    .filter(Boolean)
    .map((said) => `  ${said}\n`)
    .join('')}`;
}

/** What can't be seen from inside the database; over HTTP the Worker says of it what it can. */
async function seenFromHere(options: Options) {
  const found = way(options);
  if (found.kind === 'http') return [];
  const own = await withDatabase(found.url, async (client) => [
    ...(await clocks(client)),
    ...(await versions(client)),
  ]);
  return [...own, ...(await pooling(process.env.POOLED_DATABASE_URL || found.url))];
}

async function doctor(options: Options) {
  const inside = await throughDoor(options, (door) => door.doctor());
  const findings = [...inside, ...(await seenFromHere(options))];
  print(options, { findings }, () => findings.map(described).join('') || 'All is well.\n');
  if (findings.length > 0) throw new Failure(`${findings.length} found.`);
}

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('what is not as it should be, and what to do; exit code 1 when there is anything')
    .action((_given, command: Command) => doctor(optionsOf(command)));
}
