import type { ComponentChildren } from 'preact';
import type { Refused } from '../api.ts';
import { duration, exact, relative } from '../format.ts';
import type { Live } from '../live.ts';
import { useNow } from '../live.ts';
import { href } from '../route.ts';
import { sentences } from '../say.tsx';

/** An instant, as how long ago it was; the instant itself on hovering and to screen readers. */
export function Ago({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (!at) return <>–</>;
  return (
    <time dateTime={at} title={exact(at)}>
      {relative(at, now)}
    </time>
  );
}

/** For how long something has been so. */
export function Since({ at }: { at: string | null | undefined }) {
  const now = useNow();
  if (!at) return <>–</>;
  return (
    <time dateTime={at} title={exact(at)}>
      {duration(Math.max(0, Math.round((now - Date.parse(at)) / 1000)))}
    </time>
  );
}

const signs: Record<string, string> = {
  ready: '○',
  waiting: '◔',
  running: '▶',
  done: '✓',
  dead: '✕',
  failed: '✕',
  lost: '?',
  cancelled: '–',
  expired: '⌛',
  superseded: '↷',
  paused: 'Ⅱ',
};

/** A state in words, with a sign and a colour. */
export function State({ state }: { state: string }) {
  return (
    <span class={`state ${state}`}>
      <span aria-hidden="true">{signs[state] ?? '•'}</span> {state}
    </span>
  );
}

export const TaskLink = ({ id }: { id: string }) => (
  <a class="id" href={href(['tasks', id])}>
    {id}
  </a>
);

export const QueueLink = ({ queue }: { queue: string }) => (
  <a href={href(['queues', queue])}>{queue}</a>
);

export function Panel({
  title,
  children,
  side,
}: {
  title: string;
  children: ComponentChildren;
  side?: ComponentChildren;
}) {
  return (
    <section class="panel">
      <header>
        <h2>{title}</h2>
        {side}
      </header>
      {children}
    </section>
  );
}

export function Problem({ error }: { error: Refused }) {
  return (
    <p class="problem">
      <strong>{error.status === 0 ? 'Offline' : `Refused (${error.status})`}</strong>{' '}
      {sentences(error)}
    </p>
  );
}

/** What a live look gave, or why it gave nothing. */
export function Shown<T>({
  live,
  children,
}: {
  live: Live<T>;
  children: (data: T) => ComponentChildren;
}) {
  const { data, error } = live;
  return (
    <>
      {error && <Problem error={error} />}
      {data !== undefined ? children(data) : !error && <p class="none">Looking …</p>}
    </>
  );
}

/** When it was last answered. */
export function Updated({ at }: { at: number | null }) {
  const now = useNow();
  if (at === null) return null;
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  return (
    <span class={seconds > 20 ? 'updated old' : 'updated'}>
      {seconds < 5 ? 'live' : `as of ${duration(seconds)} ago`}
    </span>
  );
}

/** The way through a list that is asked for a part at a time: `next` is where the next one begins. */
export function Further({
  after,
  next,
  go,
}: {
  after: string | undefined;
  next: string | null | undefined;
  go(after: string | undefined): void;
}) {
  if (!after && !next) return null;
  return (
    <p class="buttons">
      {after && (
        <button type="button" onClick={() => go(undefined)}>
          From the beginning
        </button>
      )}
      {next && (
        <button type="button" onClick={() => go(next)}>
          Go on
        </button>
      )}
    </p>
  );
}
