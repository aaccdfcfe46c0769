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

const ASKED = '__complete';

/** What a shell asks on Tab: `tock __complete queue pau`. */
export const isCompleting = (args: string[]): boolean => args[0] === ASKED;

export function complete(program: Command, args: string[]): void {
  addAll(program, '');
  completion.parse(args.slice(1));
}

/** Without the package bash-completion, and sourced a second time. */
const bash = (script: string) =>
  script
    .replace(/^readonly (?=\w+=)/gm, '')
    .replace('    _get_comp_words_by_ref -n "=:" cur prev words cword', '    __tock_words')
    .replace(
      '__tock_complete() {',
      `__tock_words() {
    if declare -F _get_comp_words_by_ref > /dev/null; then
        _get_comp_words_by_ref -n "=:" cur prev words cword
        return
    fi
    words=("\${COMP_WORDS[@]}")
    cword=$COMP_CWORD
    cur=\${COMP_WORDS[COMP_CWORD]}
    prev=\${COMP_WORDS[COMP_CWORD-1]}
}

__tock_complete() {`,
    );

/** The library's script; as it has it, \`complete --\` would be no command of one's own. */
function scriptOf(shell: string): string {
  const lines: string[] = [];
  const { log } = console;
  console.log = (line: string) => void lines.push(line);
  try {
    completion.setup('tock', 'tock', shell);
  } finally {
    console.log = log;
  }
  const script = `${lines.join('\n')}\n`.replaceAll('tock complete -- ', `tock ${ASKED} `);
  return shell === 'bash' ? bash(script) : script;
}

export function addCompletion(program: Command): void {
  program
    .command('completion <shell>')
    .description(`what a shell needs to complete commands: ${shells.join(', ')}`)
    .addHelpText('after', '\nsource <(tock completion bash)    or put it where your shell looks')
    .action((shell: string, _given, command: Command) => {
      if (!shells.includes(shell)) command.error(`error: ${shell}: give ${shells.join(', ')}`);
      process.stdout.write(scriptOf(shell));
    });
}
