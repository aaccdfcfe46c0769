import type { Command } from 'commander';
import type pg from 'pg';
import type { Answer } from '../../client/wire.ts';
import { pageName, withPage } from '../../functions/http/findings.ts';
import { withDatabase } from '../../migrate/connect.ts';
import { Failure } from '../../migrate/failure.ts';
import { withApi } from '../api.ts';
import { clocks, pooling, runCheck, versions } from '../diagnosis.ts';
import { visibleLine } from '../escape_control.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { databaseBehind } from '../settings.ts';
import { plural } from '../table.ts';

type Finding = Answer<'GET /v1/doctor'>['findings'][number];

const CHECK_MS = 15_000;

/** A finding of the doctor has a page; a reason of `tock why` has none. */
export function described({
  finding,
  severity,
  detail,
  hint,
  page,
}: Omit<Finding, 'page'> & Partial<Finding>): string {
  const more = page && `more: tock findings ${pageName(finding)}`;
  const lines = [detail, hint, more].flatMap((text) => (text ? `  ${visibleLine(text)}\n` : []));
  return `${severity}: ${finding}\n${lines.join('')}`;
}

/** Runs the checks that need a connection from this machine, if the database's URL is known. */
async function findingsFromHere(options: Options): Promise<Finding[]> {
  const { database, pooled } = databaseBehind(options);
  if (!database) return [];
  const checks = async (client: pg.Client) => [
    ...(await clocks(client)),
    ...(await versions(client)),
  ];
  const pooledUrl = pooled ?? database;
  return [
    ...(await runCheck('the database', () => withDatabase(database, checks, CHECK_MS))),
    ...(await runCheck('the pooler', () => pooling(pooledUrl, pooledUrl === pooled))),
  ].map(withPage);
}

/** The server's findings. The app in this process is no Worker: findingsFromHere() checks this machine's clock. */
async function findingsFromInside(options: Options): Promise<Finding[]> {
  return withApi(options, async (api) => {
    const { findings } = await api.call('GET /v1/doctor');
    return findings.filter(({ finding }) => !api.isLocal || finding !== 'the clocks differ');
  });
}

async function doctor(options: Options) {
  const findings = [...(await findingsFromInside(options)), ...(await findingsFromHere(options))];
  const wrong = findings.filter(({ severity }) => severity !== 'note').length;
  const summary = wrong === 0 ? 'All is well.\n' : '';
  print(options, { findings }, () => findings.map(described).join('') + summary);
  if (wrong > 0)
    throw new Failure(`${plural(wrong, 'problem')} found.`, 'Each finding above says what to do.');
}

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('list problems with hints; exit code 1 if any is more than a note')
    .action((_options, command: Command) => doctor(optionsOf(command)));
}
