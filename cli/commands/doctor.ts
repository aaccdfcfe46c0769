import type { Command } from 'commander';
import { type Finding, throughDoor } from '../doors/door.ts';
import { Failure } from '../failure.ts';
import { type Options, optionsOf, print } from '../output.ts';

function described({ finding, severity, detail, hint }: Finding): string {
  return `${severity}: ${finding}\n${[detail, hint]
    .filter(Boolean)
    .map((said) => `  ${said}\n`)
    .join('')}`;
}

async function doctor(options: Options) {
  const findings = await throughDoor(options, (door) => door.doctor());
  print(options, { findings }, () => findings.map(described).join('') || 'All is well.\n');
  if (findings.length > 0) throw new Failure(`${findings.length} found.`);
}

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('what is not as it should be, and what to do; exit code 1 when there is anything')
    .action((_given, command: Command) => doctor(optionsOf(command)));
}
