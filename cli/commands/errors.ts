import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { table } from '../table.ts';

/** The build generates this file. */
const built = () => import('../../functions/errors/built.ts');

/** The heading of a page is `# TK422: The request is invalid`. */
const titleOf = (page: string) => /^# TK\d{3}: (.*)$/m.exec(page)?.[1] ?? '';

async function list(options: Options) {
  const { pages } = await built();
  const errors = Object.entries(pages).map(([code, page]) => ({ code, title: titleOf(page) }));
  print(options, { errors }, () =>
    table([['code', 'title'], ...errors.map(({ code, title }) => [code, title])]),
  );
}

async function show(argument: string, options: Options) {
  const { pages } = await built();
  const code = argument.toUpperCase().replace(/^(?=\d{3}$)/, 'TK');
  const page = Object.hasOwn(pages, code) ? pages[code] : undefined;
  if (page === undefined)
    throw new Failure(`There is no error ${argument}.`, '`tock errors` lists the codes.', 3);
  print(options, { code, title: titleOf(page), page }, () => page);
}

export function addErrors(program: Command): void {
  program
    .command('errors [code]')
    .description('explain an error by its code, such as TK422; without a code list all')
    .action((code: string | undefined, _options, command: Command) =>
      code === undefined ? list(optionsOf(command)) : show(code, optionsOf(command)),
    );
}
