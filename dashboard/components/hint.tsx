import { useHidden } from '../hidden_fields.ts';
import { pagesFor } from '../pages.ts';
import { href } from '../route.ts';
import { useMay, useSession } from '../session.tsx';

/** Where the dashboard has what a command does. Without the scope for it the command itself stays. */
type Place = {
  path: [page: string, name?: string];
  query?: { [name: string]: string | undefined };
  text: string;
  scope?: 'enqueue' | 'admin';
};

/** The words of the command, and last the queue that the hint is of. */
const places: [command: RegExp, place: (...words: string[]) => Place][] = [
  [
    /raise (max_running|rate_limit)/,
    (setting = '', queue = '') => ({
      path: ['queues', queue],
      query: { setting },
      text: `raise ${setting}`,
      scope: 'admin',
    }),
  ],
  [
    /(?:tock (?:task|parents|steps)|\btask) (\d+)/,
    (id = '') => ({ path: ['tasks', id], text: `task ${id}` }),
  ],
  [
    /tock cancel (\d+)/,
    (id = '') => ({ path: ['tasks', id], text: `Cancel at task ${id}`, scope: 'enqueue' }),
  ],
  [
    /tock rerun (\d+)/,
    (id = '') => ({ path: ['tasks', id], text: `Rerun at task ${id}`, scope: 'enqueue' }),
  ],
  [
    /tock redrive ([\w.:/-]+)(?: --error '((?:[^']|'\\'')*)')?/,
    (queue = '', error) => ({
      path: ['queues', queue],
      query: { state: 'dead', rerun: 'false', error: error?.replaceAll("'\\''", "'") },
      text: error ? `the dead tasks of ${queue} with this error` : `the dead tasks of ${queue}`,
      scope: 'enqueue',
    }),
  ],
  [
    /tock purge ([\w.:/-]+)/,
    (queue = '') => ({ path: ['queues', queue], text: `Purge at queue ${queue}`, scope: 'admin' }),
  ],
  [
    /tock concurrency-key ([\w.:/-]+) '(?:[^']|'\\'')*' --(resume|limit)(?: N)?/,
    (queue = '', verb) => ({
      path: ['concurrency_keys'],
      query: { queue },
      text: `${verb === 'resume' ? 'Resume' : 'Limits'} at the concurrency keys of ${queue}`,
      scope: 'admin',
    }),
  ],
  [/tock key rotate \S+/, () => ({ path: ['keys'], text: 'Rotate on the page Keys' })],
  [/tock maintenance/, () => ({ path: ['system'], text: 'the page System' })],
  [/tock queue list/, () => ({ path: [''], text: 'the page Overview' })],
];

/** The text in parts: what stays text, and the commands with their places. */
function partsOf(
  text: string,
  queue: string | undefined,
  isHidden: (word: string) => boolean,
): (string | { command: string; place: Place })[] {
  const [first] = places
    .flatMap(([pattern, place]) => {
      const match = pattern.exec(text);
      return match ? [{ match, place }] : [];
    })
    .sort((a, b) => a.match.index - b.match.index);
  if (!first) return [text];
  const [command, ...all] = first.match;
  // An error with hidden fields does not get into an address.
  const words = all.map((word) => (word && isHidden(word) ? undefined : word)) as string[];
  const { index } = first.match;
  return [
    text.slice(0, index),
    { command, place: first.place(...words, queue as string) },
    ...partsOf(text.slice(index + command.length), queue, isHidden),
  ];
}

/** What to do about a finding. A command becomes a link to the place in the dashboard, where it has one. */
export function Hint({ text, queue }: { text: string; queue: string | undefined }) {
  const may = useMay();
  const hidden = useHidden();
  const { keyInfo } = useSession();
  const isHidden = (word: string) => hidden.text(word) !== word;
  const has = ({ path: [page, name], scope }: Place) =>
    (name !== undefined || pagesFor(keyInfo).some(({ path }) => path === page)) &&
    (!scope || may(scope, queue));
  return (
    <>
      {partsOf(text, queue, isHidden).map((part, n) => {
        if (typeof part === 'string') return hidden.text(part);
        const { command, place } = part;
        if (!has(place)) return hidden.text(command);
        const path = place.path.filter(Boolean) as string[];
        return (
          <a key={`${n} ${command}`} href={href(path, place.query)}>
            {place.text}
          </a>
        );
      })}
    </>
  );
}
