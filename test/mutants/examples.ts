import type { Mutant } from './mutants.ts';

/** The examples. */
export const examples: Mutant[] = [
  {
    name: "a shell worker's command can read its key",
    in: 'examples',
    find: 'export -n TOCK_KEY',
    replace: 'export TOCK_KEY',
    caught: [
      'examples/shell.test.ts',
      'a shell worker gives its command whatever a payload has in it',
    ],
  },
];
