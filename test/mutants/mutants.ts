import { globSync, readFileSync } from 'node:fs';

/** A planted bug, and the test that must fail because of it. */
export type Mutant = {
  name: string;
  /** A function or table of SQL with its schema, or a folder: sql, client, functions or examples. */
  in: string;
  /** The code to find, compared token by token. See match.ts. */
  find: string;
  /** The code that replaces it. */
  replace: string;
  /** A file below test/, and the name of the test or a part of it. */
  caught: [file: string, test: string];
};

const pattern = /^(\S+): (.+)\n- (.+)\n\+ ?(.*)\n= (\S+): (.+)\n?$/;

/** Reads what the .txt files beside this one list: place and name, `-` code, `+` its replacement, `=` file and test. */
function read(text: string): Mutant[] {
  const parts = text.split('\n\n').filter((part) => !part.startsWith('# '));
  return parts.map((part) => {
    const [, place = '', name = '', find = '', replace = '', file = '', test = ''] =
      pattern.exec(part) ?? [];
    if (!test) throw new Error(`This is no mutant: ${part}`);
    return { name, in: place, find, replace, caught: [file, test] };
  });
}

const files = globSync('*.txt', { cwd: import.meta.dirname }).toSorted();

export const mutants = files.flatMap((file) =>
  read(readFileSync(`${import.meta.dirname}/${file}`, 'utf8')),
);
