import {
  Ban,
  Circle,
  CircleCheck,
  CircleQuestionMark,
  CircleX,
  Clock,
  CornerUpRight,
  Hourglass,
  type IconNode,
  Pause,
  Play,
  TriangleAlert,
} from 'lucide';
import { href } from '../route.ts';
import { useSession } from '../session.tsx';
import { Icon } from './icon.tsx';

type Tone = 'active' | 'good' | 'warn' | 'bad' | '';

/** The states of tasks, runs and steps, of queues, schedules and their fires, of pools and segments. */
const looks: Record<string, [IconNode, Tone]> = {
  ready: [Circle, 'active'],
  waiting: [Clock, ''],
  running: [Play, 'active'],
  done: [CircleCheck, 'good'],
  dead: [CircleX, 'bad'],
  failed: [CircleX, 'bad'],
  lost: [CircleQuestionMark, 'bad'],
  cancelled: [Ban, ''],
  expired: [Hourglass, 'warn'],
  released: [CornerUpRight, ''],
  changed: [CornerUpRight, ''],
  suspended: [CornerUpRight, ''],
  retrying: [CornerUpRight, 'warn'],
  'timed out': [Hourglass, 'warn'],
  paused: [Pause, 'warn'],
  overdue: [TriangleAlert, 'warn'],
  fired: [CircleCheck, 'good'],
  run: [Play, 'good'],
  missed: [TriangleAlert, 'warn'],
  overlapped: [CornerUpRight, 'warn'],
  replaced: [CornerUpRight, ''],
  held: [Play, 'active'],
  free: [Circle, ''],
  idle: [Circle, ''],
  verified: [CircleCheck, 'good'],
};

/** A state that is known to users by other words. */
const words: Record<string, string> = { run: 'fired by hand' };

/** A state in words, with an icon and a colour. */
export function State({ state }: { state: string }) {
  const [icon, tone] = looks[state] ?? [Circle, ''];
  return (
    <span class={`badge ${tone}`}>
      <Icon of={icon} /> {words[state] ?? state}
    </span>
  );
}

/** The icon of a state alone, beside a word that says the state. */
export const StateIcon = ({ state }: { state: string }) => (
  <Icon of={looks[state]?.[0] ?? Circle} />
);

export const TaskLink = ({ id }: { id: string }) => (
  <a class="id" href={href(['tasks', id])}>
    {id}
  </a>
);

export const QueueLink = ({ queue }: { queue: string }) => (
  <a href={href(['queues', queue])}>{queue}</a>
);

export const QueueLinks = ({ queues }: { queues: string[] }) => (
  <>
    {queues.map((queue) => (
      <span key={queue}>
        <QueueLink queue={queue} />{' '}
      </span>
    ))}
  </>
);

/** The link to the open leases of a worker. A key for some queues sees only those of one queue, and one for some tenants none. */
export function WorkerLink({ worker, queue }: { worker: string; queue?: string }) {
  const { keyInfo } = useSession();
  if (keyInfo.tenants !== null) return <>{worker}</>;
  const only = keyInfo.queues === null ? undefined : queue;
  return <a href={href(['workers'], { queue: only, worker })}>{worker}</a>;
}
