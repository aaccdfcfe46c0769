import { useState } from 'preact/hooks';
import { call, Refused } from '../api.ts';
import { count, plural } from '../format.ts';
import { sentences, useNotify } from '../notifications.tsx';
import { useMay, useSession } from '../session.tsx';
import { Confirm } from './confirm.tsx';

type Queue = { name: string; paused: boolean };

/** Pauses or resumes all queues of a list, one call after the other. */
export function PauseQueues({ queues }: { queues: Queue[] }) {
  const { key } = useSession();
  const may = useMay();
  const notify = useNotify();
  // The list may change while the dialog is open.
  const [asked, setAsked] = useState<{ verb: 'Pause' | 'Resume'; names: string[] } | null>(null);
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
  };
  const button = (verb: 'Pause' | 'Resume') => {
    const paused = verb === 'Pause';
    const names = queues.filter((queue) => queue.paused !== paused).map(({ name }) => name);
    return (
      names.length > 0 && (
        <button type="button" aria-haspopup="dialog" onClick={() => setAsked({ verb, names })}>
          {verb} {plural(names.length, 'queue')}
        </button>
      )
    );
  };
  return (
    <fieldset class="buttons" aria-label="All queues that are listed">
      {button('Pause')}
      {button('Resume')}
      {asked && (
        <Confirm
          title={`${asked.verb} ${plural(asked.names.length, 'queue')}?`}
          buttonLabel={asked.verb}
          onConfirm={() => change(asked.names, asked.verb === 'Pause')}
          onClose={() => setAsked(null)}
        >
          <p>{asked.names.join(', ')}</p>
          <p class="hint">
            {asked.verb === 'Pause'
              ? 'They accept tasks and lease none until resumed. Running tasks continue.'
              : 'Their workers get tasks again.'}
          </p>
        </Confirm>
      )}
    </fieldset>
  );
}
