import type { Command } from 'commander';
import { migrate } from '../../migrate/migrate.ts';
import { optionsOf, print } from '../output.ts';
import { databaseUrl } from '../settings.ts';
import { some } from '../table.ts';

export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('bring the database to this version of Tock; a second time changes nothing')
    .action(async (_given, command: Command) => {
      const options = optionsOf(command);
      const log = (line: string) => options.json || process.stdout.write(`${line}\n`);
      const report = await migrate(databaseUrl(options), { log });
      const count = report.applied.length;
      if (report.advice) log(report.advice);
      print(options, report, () =>
        count ? `Applied ${some(count, 'migration')}.\n` : 'No new migrations.\n',
      );
    });
}
