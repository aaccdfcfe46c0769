import type { Command } from 'commander';
import { pageName } from '../../functions/http/findings.ts';
import { Failure } from '../../migrate/failure.ts';
import { optionsOf, print } from '../output.ts';
import { table } from '../table.ts';

/** The build generates this file. */
const built = () => import('../../functions/errors/built.ts');

/** The heading of a page is `# TK422: The request is invalid`, or the text of a finding. */
const titleOf = (page: string) => /^# (?:TK\d{3}: )?(.*)$/m.exec(page)?.[1] ?? '';

type Kind = {
  kind: 'errors' | 'findings';
  one: string;
  id: 'code' | 'name';
  description: string;
  /** The id that an argument stands for. */
  idOf: (argument: string) => string;
};

/** A command that lists the pages of a kind, or shows one of them. */
function addPages(program: Command, { kind, one, id, description, idOf }: Kind): void {
  program
    .command(`${kind} [${id}]`)
    .description(`${description}; without a ${id} list all`)
    .action(async (argument: string | undefined, _options, command: Command) => {
      const options = optionsOf(command);
      const pages = (await built())[kind];
      if (argument === undefined) {
        const rows = Object.entries(pages).map(([name, page]) => [name, titleOf(page)]);
        const listed = rows.map(([name, title]) => ({ [id]: name, title }));
        return print(options, { [kind]: listed }, () => table([[id, 'title'], ...rows]));
      }
      const name = idOf(argument);
      const page = Object.hasOwn(pages, name) ? pages[name] : undefined;
      if (page === undefined)
        throw new Failure(
          `There is no ${one} ${argument}.`,
          `\`tock ${kind}\` lists the ${id}s.`,
          3,
        );
      print(options, { [id]: name, title: titleOf(page), page }, () => page);
    });
}

export function addErrors(program: Command): void {
  addPages(program, {
    kind: 'errors',
    one: 'error',
    id: 'code',
    description: 'explain an error by its code, such as TK422',
    idOf: (argument) => argument.toUpperCase().replace(/^(?=\d{3}$)/, 'TK'),
  });
}

export function addFindings(program: Command): void {
  addPages(program, {
    kind: 'findings',
    one: 'finding',
    id: 'name',
    description: 'explain a finding of the doctor by its name or text, such as the-clocks-differ',
    idOf: pageName,
  });
}
