import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { checkout } from '../../scripts/stack/place.ts';
import type { Bug } from './bugs.ts';

const ofClient = (bug: Bug) => bug.file.startsWith('client/');
const ofFunctions = (bug: Bug) => bug.file.startsWith('functions/');

/** The text of the bug's file with the bug in it. */
export function planted(bug: Bug): string {
  const sql = readFileSync(
    join(checkout, ofClient(bug) || ofFunctions(bug) ? '' : 'sql', bug.file),
    'utf8',
  );
  const everywhere =
    typeof bug.find === 'string' ? bug.find : new RegExp(bug.find.source, `${bug.find.flags}g`);
  const text = sql.replaceAll(everywhere, (_, inside) =>
    bug.replace.replaceAll('{inside}', () => String(inside)),
  );
  if (text === sql) throw new Error(`${bug.file} has nothing like: ${bug.find}`);
  return text;
}

/** Copies sql/ or client/, or one file of functions/, into a folder, with the bug in it; the environment in which tests take it from there. */
export function plant(bug: Bug, folder: string): Record<string, string> {
  if (ofFunctions(bug)) {
    const copy = join(folder, bug.file);
    mkdirSync(dirname(copy), { recursive: true });
    writeFileSync(copy, planted(bug));
    return { TOCK_FUNCTIONS_DIRECTORY: join(folder, 'functions') };
  }
  const name = ofClient(bug) ? 'client' : 'sql';
  const directory = join(folder, name);
  cpSync(join(checkout, name), directory, { recursive: true });
  writeFileSync(join(ofClient(bug) ? folder : directory, bug.file), planted(bug));
  return { [ofClient(bug) ? 'TOCK_CLIENT_DIRECTORY' : 'TOCK_SQL_DIRECTORY']: directory };
}
