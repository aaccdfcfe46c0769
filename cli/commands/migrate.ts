import type { Command } from 'commander';
import { migrate } from '../../migrate/migrate.ts';
import { optionsOf, print } from '../output.ts';
import { databaseUrl } from '../settings.ts';
import { plural } from '../table.ts';

export function addMigrate(program: Command): void {
  program
    .command('migrate')
    .description('migrate the database to this version of Tock; repeating it is safe')
    .action(async (_options, command: Command) => {
      const options = optionsOf(command);
      const log = (message: string) => options.json || process.stdout.write(`${message}\n`);
      const report = await migrate(databaseUrl(options), { log });
      const count = report.applied.length;
      if (report.advice) log(report.advice);
      print(options, report, () =>
        count ? `Applied ${plural(count, 'migration')}.\n` : 'No new migrations.\n',
      );
    });
}
