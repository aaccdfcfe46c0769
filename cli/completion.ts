import completion from '@bomb.sh/tab';
import type { Command } from 'commander';

const shells = ['bash', 'zsh', 'fish'];

/** Adds a command's options. For an option with choices, the shell offers these. */
function addOptions(completed: ReturnType<typeof completion.command>, command: Command): void {
  for (const option of command.createHelp().visibleOptions(command)) {
    const name = option.long?.slice(2);
    if (!name) continue;
    const values = option.argChoices ?? [];
    if (!option.required && !option.optional) completed.option(name, option.description);
    else {
      completed.option(name, option.description, (offer) => {
        for (const choice of values) offer(choice, '');
      });
    }
  }
}

function addAll(command: Command, path: string): void {
  for (const child of command.createHelp().visibleCommands(command)) {
    const name = path ? `${path} ${child.name()}` : child.name();
    addOptions(completion.command(name, child.description()), child);
    addAll(child, name);
  }
}

const ASKED = '__complete';

/** The shell's call on Tab: `tock __complete queue pau`. */
export const isCompleting = (args: string[]): boolean => args[0] === ASKED;

export function complete(program: Command, args: string[]): void {
  addAll(program, '');
  completion.parse(args.slice(1));
}

/** Changes the script for bash, so that it works without the package bash-completion, and when it is sourced twice. */
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

/** The library's script. It calls `tock complete --`, which is not a command of its own. */
function completionScript(shell: string): string {
  const lines: string[] = [];
  const { log } = console;
  console.log = (text: string) => void lines.push(text);
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
    .description(`print the completion script of a shell: ${shells.join(', ')}`)
    .addHelpText(
      'after',
      '\nsource <(tock completion bash)    or save it where the shell looks for completions',
    )
    .action((shell: string, _options, command: Command) => {
      if (!shells.includes(shell)) command.error(`error: ${shell}: give ${shells.join(', ')}`);
      process.stdout.write(completionScript(shell));
    });
}
