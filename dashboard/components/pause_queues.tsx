import { call, Refused } from '../api.ts';
import { count, plural } from '../format.ts';
import { sentences, useNotify } from '../notifications.tsx';
import { useMay, useSession } from '../session.tsx';
import { ConfirmButton } from './confirm.tsx';

type Queue = { name: string; paused: boolean };

/** Pauses or resumes all queues of a list, one call after the other. */
export function PauseQueues({ queues, onDone }: { queues: Queue[]; onDone(): void }) {
  const { key } = useSession();
  const may = useMay();
  const notify = useNotify();
  if (!may('admin')) return null;
  const change = async (names: string[], paused: boolean) => {
    const all = plural(names.length, 'queue is', 'queues are');
    const done = paused ? 'paused' : 'resumed';
    let changed = 0;
    try {
      for (const queue of names) {
        await call(key, 'PUT /v1/queues/{queue}', { path: { queue }, body: { paused } });
        changed++;
      }
      notify({ text: `${all} ${done}.`, isError: false });
    } catch (error) {
      const why = error instanceof Refused ? sentences(error) : String(error);
      notify({ text: `${count(changed)} of ${all} ${done}. ${why}`, isError: true });
    }
    onDone();
  };
  const button = (verb: 'Pause' | 'Resume', text: string) => {
    const paused = verb === 'Pause';
    const names = queues.filter((queue) => queue.paused !== paused).map(({ name }) => name);
    return (
      names.length > 0 && (
        <ConfirmButton
          label={`${verb} ${plural(names.length, 'queue')}`}
          title={`${verb} ${plural(names.length, 'queue')}?`}
          buttonLabel={verb}
          onConfirm={() => change(names, paused)}
        >
          <p>{names.join(', ')}</p>
          <p class="hint">{text}</p>
        </ConfirmButton>
      )
    );
  };
  return (
    <fieldset class="buttons" aria-label="All queues that are listed">
      {button('Pause', 'They accept tasks and lease none until resumed. Running tasks continue.')}
      {button('Resume', 'Their workers get tasks again.')}
    </fieldset>
  );
}
