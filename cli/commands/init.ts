import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { templatePackage, writeProject } from '../init/write_project.ts';
import { optionsOf, print } from '../output.ts';

/** The project's name, which is also the name of its Worker. */
function checkedName(name: string): string {
  if (!/^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name)) {
    throw new Failure(
      `${name} is not a name for a project.`,
      'npm and Cloudflare allow up to 63 small letters, digits and hyphens, a letter first, such as my-app.',
      2,
    );
  }
  const { dependencies, devDependencies } = templatePackage();
  if (name in dependencies || name in devDependencies)
    throw new Failure(`The project installs a package named ${name}.`, 'Choose another name.', 2);
  return name;
}

/** What to do if this Node is too old for the project's packages; else an empty text. */
export function nodeAdvice(node: string): string {
  const { engines, devDependencies } = templatePackage();
  const needed = engines.node.replace('>=', '');
  if (node.localeCompare(needed, 'en', { numeric: true }) >= 0) return '';
  return `
The project needs Node ${needed} or newer, and this is Node ${node}: Node runs its scripts in TypeScript, and
wrangler ${devDependencies.wrangler} needs Node 22.
Install a newer Node, or give this project one of its own: npm install --save-dev node@24
`;
}

const next = (folder: string) => `${folder} is written. Next:

  cd ${folder}
  npm install
  npm test
  cp .dev.vars.example .dev.vars   # then set DATABASE_URL in it
  npm run dev

README.md has each step.
`;

export function addInit(program: Command): void {
  program
    .command('init')
    .description(
      'write a new project: a Worker with a consumer, a schedule, a typed client and a test',
    )
    .argument('<folder>', 'new or empty; its name becomes the name of the project')
    .action((argument: string, _options, command: Command) => {
      const folder = resolve(argument);
      const name = checkedName(basename(folder));
      const files = writeProject(folder, name);
      print(
        optionsOf(command),
        { name, folder, files },
        () => next(argument) + nodeAdvice(process.versions.node),
      );
    });
}
