import completion from '@bomb.sh/tab';
import type { Command } from 'commander';

const shells = ['bash', 'zsh', 'fish'];

/** A command's options; one that takes a value offers what it may be. */
function addOptions(to: ReturnType<typeof completion.command>, command: Command): void {
  for (const option of command.createHelp().visibleOptions(command)) {
    const name = option.long?.slice(2);
    if (!name) continue;
    const values = option.argChoices ?? [];
    if (!option.required && !option.optional) to.option(name, option.description);
    else {
      to.option(name, option.description, (offer) => {
        for (const one of values) offer(one, '');
      });
    }
  }
}

function addAll(command: Command, path: string): void {
  for (const one of command.createHelp().visibleCommands(command)) {
    const name = path ? `${path} ${one.name()}` : one.name();
    addOptions(completion.command(name, one.description()), one);
    addAll(one, name);
  }
}

/** What a shell asks on Tab: `tock complete -- queue pau`, which no lease is called like. */
export function isCompleting(args: string[]): boolean {
  return args[0] === 'complete' && args[1] === '--';
}

export function complete(program: Command, args: string[]): void {
  addAll(program, '');
  completion.parse(args.slice(2));
}

export function addCompletion(program: Command): void {
  program
    .command('completion <shell>')
    .description(`what a shell needs to complete commands: ${shells.join(', ')}`)
    .addHelpText('after', '\nsource <(tock completion bash)    or put it where your shell looks')
    .action((shell: string, _given, command: Command) => {
      if (!shells.includes(shell)) command.error(`error: ${shell}: give ${shells.join(', ')}`);
      completion.setup('tock', 'tock', shell);
    });
}
