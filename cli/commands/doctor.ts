import type { Command } from 'commander';
import type pg from 'pg';
import type { Answer } from '../../client/wire.ts';
import { withDatabase } from '../../migrate/connect.ts';
import { Failure } from '../../migrate/failure.ts';
import { withApi } from '../api.ts';
import { clocks, looked, pooling, versions } from '../diagnosis.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { lockWaiting } from '../plain.ts';
import { beneath } from '../settings.ts';

type Finding = Answer<'GET /v1/doctor'>['findings'][number];

const LOOK_MS = 15_000;

export function described({ finding, severity, detail, hint }: Finding): string {
  const said = [detail, hint].flatMap((text) => (text ? `  ${lockWaiting(text)}\n` : []));
  return `${severity}: ${finding}\n${said.join('')}`;
}

/** What can't be seen from inside the database, where that can be reached from here. */
async function seenFromHere(options: Options): Promise<Finding[]> {
  const { database, pooled } = beneath(options);
  if (!database) return [];
  const own = async (client: pg.Client) => [...(await clocks(client)), ...(await versions(client))];
  const through = pooled ?? database;
  return [
    ...(await looked('the database', () => withDatabase(database, own, LOOK_MS))),
    ...(await looked('the pooler', () => pooling(through, through === pooled))),
  ];
}

/** Of the app in this process there is no Worker whose clock could differ: seenFromHere() looks at this machine's. */
async function seenInside(options: Options): Promise<Finding[]> {
  return withApi(options, async (api) => {
    const { findings } = await api.call('GET /v1/doctor');
    return findings.filter(({ finding }) => !api.isLocal || finding !== 'the clocks differ');
  });
}

async function doctor(options: Options) {
  const findings = [...(await seenInside(options)), ...(await seenFromHere(options))];
  const wrong = findings.filter(({ severity }) => severity !== 'note').length;
  const end = wrong === 0 ? 'All is well.\n' : '';
  print(options, { findings }, () => findings.map(described).join('') + end);
  if (wrong > 0) throw new Failure(`${wrong} found.`);
}

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description(
      'what is not as it should be, and what to do; exit code 1 when there is more than a note',
    )
    .action((_given, command: Command) => doctor(optionsOf(command)));
}
