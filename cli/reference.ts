import type { Command } from 'commander';
import { program } from './program.ts';

/** All commands without subcommands, each with the words that a user types. */
function commands(of: Command, path: string): { typed: string; command: Command }[] {
  return of.commands.flatMap((command) => {
    const typed = `${path} ${command.name()}`;
    return command.commands.length > 0 ? commands(command, typed) : [{ typed, command }];
  });
}

/** The commands with their arguments and options, as Markdown. */
function commandReference(): string {
  const all = commands(program(), 'tock');
  const index = all.map(
    ({ typed, command }) =>
      `| [\`${typed}\`](#${typed.replaceAll(' ', '-')}) | ${command.description()} |`,
  );
  const details = all
    .map(({ typed, command }) => {
      const parameters = command.registeredArguments.map((argument) => {
        const word = `${argument.name()}${argument.variadic ? '...' : ''}`;
        return argument.required ? `<${word}>` : `[${word}]`;
      });
      const rows = [
        ...command.registeredArguments
          .filter(({ description }) => description)
          .map((argument) => [argument.name(), argument.description]),
        ...command.options
          .filter(({ hidden }) => !hidden)
          .map(({ flags, description }) => [flags, description]),
      ];
      const table = rows.map(([flag, text]) => `| \`${flag}\` | ${text?.replaceAll('|', '\\|')} |`);
      return [
        `### ${typed}`,
        `\`${[typed, ...parameters].join(' ')}\`: ${command.description()}`,
        ...(rows.length > 0 ? [`| | |\n|---|---|\n${table.join('\n')}`] : []),
      ].join('\n\n');
    })
    .join('\n\n');
  return `| command | what it does |\n|---|---|\n${index.join('\n')}\n\n${details}`;
}

// `npm run reference` runs this file.
process.stdout.write(commandReference());
