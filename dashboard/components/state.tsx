import { href } from '../route.ts';

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

/** A state in words, with a symbol and a colour. */
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
