import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { count, plural } from '../format.ts';
import { type PageEntry, pagesFor, seesAll } from '../pages.ts';
import { usePolling } from '../polling.ts';
import { href } from '../route.ts';
import { type Session, useSession } from '../session.tsx';
import { chooseTheme, themeNames, themes } from '../theme.tsx';
import { Dialog } from './dialog.tsx';
import { Icon } from './icon.tsx';
import { type Command, commandIcons, matching } from './palette_commands.ts';

const MOST_SHOWN = 50;
/** The lists are read when the palette opens; after this time they are read again. */
const STALE_MS = 60_000;

const goTo = (path: string[]) => () => {
  location.hash = href(path);
};

const pageCommand = ({ path, name, also, letter, icon }: PageEntry): Command => ({
  kind: 'page',
  name,
  also,
  icon,
  keys: `g ${letter}`,
  run: goTo([path]),
});

/** All that the key may go to or do. Names of queues and schedules come from the server. */
function useCommands({ keyInfo, signOut }: Session, openHelp: () => void): Command[] {
  const all = seesAll(keyInfo);
  const queues = usePolling('GET /v1/queues', all ? {} : null, STALE_MS);
  const query = { limit: 1000 };
  const schedules = usePolling('GET /v1/schedules', all ? { query } : null, STALE_MS);
  const queueNames = keyInfo.queues ?? queues.data?.queues.map(({ name }) => name) ?? [];
  const named = (kind: 'queue' | 'schedule') => (name: string) => ({
    kind,
    name,
    icon: commandIcons[kind],
    run: goTo([`${kind}s`, name]),
  });
  return [
    ...pagesFor(keyInfo).map(pageCommand),
    ...queueNames.map(named('queue')),
    ...(schedules.data?.schedules ?? []).map(({ name }) => name).map(named('schedule')),
    ...themes.map((theme) => ({
      kind: 'theme' as const,
      name: themeNames[theme],
      icon: commandIcons[theme],
      run: () => chooseTheme(theme),
    })),
    { kind: 'help', name: 'Keyboard shortcuts', icon: commandIcons.help, keys: '?', run: openHelp },
    { kind: 'key', name: 'Sign out', icon: commandIcons.signOut, run: signOut },
  ];
}

const taskCommand = (id: string): Command => ({
  kind: 'task',
  name: `Task ${id}`,
  icon: commandIcons.task,
  run: goTo(['tasks', id]),
});

const keyOf = ({ kind, name }: Command) => `${kind} ${name}`;

type Props = { onClose(): void; openHelp(): void };

/** A list of places and actions that typing filters. The focus stays in the field; arrows choose, Enter runs. */
export function Palette({ onClose, openHelp }: Props) {
  const commands = useCommands(useSession(), openHelp);
  const [text, setText] = useState('');
  // A command rather than its place, because names that arrive later move it.
  const [chosen, setChosen] = useState<string | null>(null);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const found = [
    ...(/^\d+$/.test(text.trim()) ? [taskCommand(text.trim())] : []),
    ...matching(commands, text),
  ];
  const shown = found.slice(0, MOST_SHOWN);
  const at = Math.max(
    0,
    shown.findIndex((command) => keyOf(command) === chosen),
  );
  const choose = (n: number) => {
    const command = shown[n];
    if (command) setChosen(keyOf(command));
  };

  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [at, text]);

  const run = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const { key, ctrlKey, metaKey, isComposing } = event;
    if (isComposing) return;
    const last = Math.max(0, shown.length - 1);
    if (key === 'ArrowDown') choose(at < last ? at + 1 : 0);
    else if (key === 'ArrowUp') choose(at > 0 ? at - 1 : last);
    else if (key === 'Enter') run(shown[at]);
    else if ((ctrlKey || metaKey) && key.toLowerCase() === 'k') onClose();
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <div class="palette">
        <input
          role="combobox"
          aria-label="Page, queue, task id or schedule"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={shown.length > 0 ? `${id}-${at}` : undefined}
          placeholder="Page, queue, task id, schedule …"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={({ currentTarget }) => {
            setText(currentTarget.value);
            setChosen(null);
          }}
          onKeyDown={onKeyDown}
        />
        <div ref={list} class="results" role="listbox" id={`${id}-list`} aria-label="Results">
          {shown.map((command, n) => (
            // biome-ignore lint/a11y/useFocusableInteractive lint/a11y/useKeyWithClickEvents: see the list
            <div
              key={keyOf(command)}
              id={`${id}-${n}`}
              class="result"
              role="option"
              aria-selected={n === at}
              onClick={() => run(command)}
            >
              <Icon of={command.icon} />
              <span>{command.name}</span>
              <small>{command.kind}</small>
              {command.keys && <kbd>{command.keys}</kbd>}
            </div>
          ))}
        </div>
        <p class="hint" role="status">
          {shown.length === 0
            ? 'Nothing has this name.'
            : shown.length < found.length
              ? `${MOST_SHOWN} of ${count(found.length)} results: type more.`
              : plural(found.length, 'result')}
        </p>
      </div>
    </Dialog>
  );
}
