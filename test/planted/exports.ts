import type { Bug } from './bugs.ts';

const ends = 'cli/export.test.ts';

/** What would pass a part of an export off as all of it. */
export const exported: Bug[] = [
  {
    name: 'a full disk is a success',
    file: 'cli/main.ts',
    find: "if (code === 'EPIPE') process.exit(0);",
    replace: 'process.exit(0);',
    caught: [ends, 'what is not written is told'],
  },
  {
    name: 'an export that nobody reads to its end is a success',
    file: 'cli/commands/export.ts',
    find: "  to.removeAllListeners('error').on('error', () => {});\n",
    replace: '',
    caught: [ends, 'a reader that has gone has the beginning'],
  },
  {
    name: 'a file that is gone on with has half a page in its middle',
    file: 'cli/commands/export.ts',
    find: ': truncate(out, bytes)',
    replace: ': stat(out)',
    caught: [ends, 'a full disk ends a file with its last whole page'],
  },
];
