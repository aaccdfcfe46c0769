import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { home } from '../scripts/stack/paths.ts';
import type { Group, System } from './types.ts';

export const usage = `usage: npm run bench -- [options]
  --quick            about five minutes, instead of almost an hour: short windows, without slow groups
  --only a,b         only groups or cases whose names begin with these
  --systems a,b      only these systems, beside Tock and the floor
  --json FILE        the file for the figures, with the page and the chart beside it; default:
                     bench/results/DATE.json for a full run, else .tock/bench.json
  --seconds N        seconds of a window
  --rounds N         number of windows for a figure
  --no-chart         no chart in the page in Markdown
  --page FILE        measures nothing: makes the HTML page of the figures of an earlier run`;

/** An invalid argument: the message is the whole output. */
export class Mistake extends Error {}

export type Options = {
  quick: boolean;
  seconds: number;
  rounds: number;
  /** Names of groups and cases; null for all. */
  only: string[] | null;
  systems: System[];
  groups: Group[];
  /** The groups that a quick run leaves out. */
  leftOut: string[];
  json: string;
  chart: boolean;
  /** The file with an earlier run's figures, if only the page is to be generated. */
  page: string | null;
  /** The command to repeat the run; it contains no paths. */
  command: string;
};

const results = join(import.meta.dirname, 'results');
const today = () => new Date().toISOString().slice(0, 10);

/** The arguments without an option and its value. */
const without = (option: string, args: string[]) =>
  args.filter((arg, n) => !arg.startsWith(option) && args[n - 1] !== option);

const list = (text?: string) =>
  (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);

function numeric(
  name: string,
  text: string | undefined,
  otherwise: number,
  whole: boolean,
): number {
  const value = text === undefined ? otherwise : Number(text);
  if (value > 0 && (!whole || Number.isInteger(value))) return value;
  throw new Mistake(`--${name} must be a ${whole ? 'whole ' : ''}number above 0, not ${text}.`);
}

function parsed(args: string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const options = {
    quick: flag,
    help: flag,
    'no-chart': flag,
    only: text,
    systems: text,
    json: text,
    seconds: text,
    rounds: text,
    page: text,
  };
  try {
    return parseArgs({ args, options }).values;
  } catch (error) {
    throw new Mistake(`${(error as Error).message}\n${usage}`);
  }
}

/** The names that match: the exact name, or all names with this prefix. */
const meant = (names: string[], requested: string) =>
  names.includes(requested) ? [requested] : names.filter((name) => name.startsWith(requested));

const namesOf = ({ name, cases = [] }: Group) => [name, ...cases];

const described = ({ name, cases = [] }: Group) => `  ${[name, ...cases].join(', ')}`;

/** Parses the arguments; null for help. */
export function optionsOf(
  args: string[],
  known: { groups: Group[]; systems: System[]; more: System[]; floor: System },
): Options | null {
  const values = parsed(args);
  if (values.help) return null;
  const names = known.groups.flatMap(namesOf);
  const requested = list(values.only);
  const unknown = requested.filter((name) => meant(names, name).length === 0);
  if (unknown.length > 0) {
    throw new Mistake(
      `Nothing is called ${unknown.join(', ')}. There are, each group with its cases:\n${known.groups.map(described).join('\n')}`,
    );
  }
  const only = requested.length === 0 ? null : requested.flatMap((name) => meant(names, name));
  const all = [...known.systems, ...known.more];
  const present = [...all, known.floor].map(({ name }) => name);
  const wanted = list(values.systems);
  const strange = wanted.filter((name) => meant(present, name).length === 0);
  if (strange.length > 0) {
    throw new Mistake(
      `There is no system named ${strange.join(', ')}. Systems: ${present.join(', ')}`,
    );
  }
  const chosen = ['tock', ...wanted.flatMap((name) => meant(present, name))];
  const { quick } = values;
  const whole = !quick && !only && wanted.length === 0;
  const file = whole ? join(results, `${today()}.json`) : join(home(), 'bench.json');
  const json = resolve(values.json ?? file);
  if (!existsSync(dirname(json)))
    throw new Mistake(`There is no folder ${dirname(json)} for --json.`);
  const page = values.page === undefined ? null : resolve(values.page);
  if (page && !existsSync(page)) throw new Mistake(`There is no file ${page} for --page.`);
  const chosenGroups = known.groups.filter(
    (group) => !only || namesOf(group).some((name) => only.includes(name)),
  );
  const leftOut = quick && !only ? chosenGroups.filter(({ slow }) => slow) : [];
  return {
    quick,
    seconds: numeric('seconds', values.seconds, quick ? 1 : 1.5, false),
    rounds: numeric('rounds', values.rounds, 3, true),
    only,
    systems: wanted.length > 0 ? all.filter(({ name }) => chosen.includes(name)) : known.systems,
    groups: chosenGroups.filter((chosenGroup) => !leftOut.includes(chosenGroup)),
    leftOut: leftOut.map(({ name }) => name),
    json,
    chart: !values['no-chart'],
    page,
    command: ['npm run bench --', ...without('--json', args)].join(' ').replace(/ --$/, ''),
  };
}

/** True if a case of a group was selected. */
export const wants =
  (only: string[] | null, group: Group) =>
  (name: string): boolean =>
    !only || only.includes(group.name) || only.includes(name);
