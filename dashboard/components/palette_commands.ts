import {
  CalendarClock,
  Hash,
  type IconNode,
  Keyboard,
  Layers,
  LogOut,
  Monitor,
  Moon,
  Sun,
} from 'lucide';

export type Command = {
  /** What the name stands for; it is searched too. */
  kind: 'page' | 'queue' | 'task' | 'schedule' | 'theme' | 'help' | 'key';
  name: string;
  /** Other words that it is found by. */
  also?: string | undefined;
  icon: IconNode;
  /** The keys that do the same. */
  keys?: string;
  run(): void;
};

export const commandIcons = {
  queue: Layers,
  task: Hash,
  schedule: CalendarClock,
  system: Monitor,
  light: Sun,
  dark: Moon,
  help: Keyboard,
  signOut: LogOut,
};

/** Lower is better; null if a word is in none of the name, the kind and the other words. */
function rank({ name, kind, also = '' }: Command, words: string[]): number | null {
  const lower = name.toLowerCase();
  if (!words.every((word) => `${kind} ${lower} ${also}`.includes(word))) return null;
  const first = words[0] ?? '';
  return lower.startsWith(first) ? 0 : lower.includes(first) ? 1 : 2;
}

/** The commands that contain all words of the text. Those whose name begins with the first word lead. */
export function matching(commands: readonly Command[], text: string): Command[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return commands
    .map((command) => ({ command, rank: rank(command, words) }))
    .filter((entry) => entry.rank !== null)
    .toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0))
    .map(({ command }) => command);
}
