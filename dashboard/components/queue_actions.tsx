import { useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { plural } from '../format.ts';
import { useAction } from '../notifications.tsx';
import { useMay } from '../session.tsx';
import { ConfirmButton } from './confirm.tsx';
import { Enqueue } from './enqueue.tsx';
import { useBackgroundChoice } from './in_background.tsx';

type Policy = Answer<'GET /v1/queues/{queue}'>;

/** What the key may do with a whole queue. */
export function QueueActions({ queue, policy }: { queue: string; policy: Policy }) {
  const may = useMay();
  const action = useAction();
  const path = { queue };
  const [adding, setAdding] = useState(false);
  const { start, box } = useBackgroundChoice(policy.waiting);
  const admin = may('admin', queue);
  const enqueue = may('enqueue', queue);
  if (!admin && !enqueue) return null;
  const pause = async (paused: boolean) => {
    const message = paused ? `${queue} is paused.` : `${queue} is resumed.`;
    await action('PUT /v1/queues/{queue}', { path, body: { paused } }, message);
  };
  const cancel = async (state: string) => {
    type ChangedPart = Answer<'POST /v1/queues/{queue}/cancel'>;
    let changed = 0;
    let cursor: string | null = null;
    // Each call scans 10,000 tasks.
    do {
      const result: ChangedPart | null = await action(
        'POST /v1/queues/{queue}/cancel',
        { path, body: { state, limit: 10_000, cursor } },
        (answer) =>
          `${plural(changed + answer.changed, `task of ${queue} is`, `tasks of ${queue} are`)} cancelled.`,
      );
      changed += result?.changed ?? 0;
      cursor = result?.cursor ?? null;
    } while (cursor);
  };
  // Else the calls would be repeated for as long as another session holds the tasks.
  const isStuck = ({ more, ready, waiting }: Answer<'POST /v1/queues/{queue}/purge'>) =>
    more && ready + waiting === 0;
  const purge = async () => {
    let purged: Answer<'POST /v1/queues/{queue}/purge'> | null;
    let all = 0;
    do {
      purged = await action('POST /v1/queues/{queue}/purge', { path, body: {} }, (answer) => {
        all += answer.ready + answer.waiting;
        const text = `${plural(all, `task of ${queue} is`, `tasks of ${queue} are`)} purged.`;
        return isStuck(answer) ? `${text} Claims hold others: purge again in a moment.` : text;
      });
    } while (purged?.more && !isStuck(purged));
  };
  return (
    <fieldset class="buttons" aria-label="Actions">
      {enqueue && (
        <button type="button" aria-haspopup="dialog" class="main" onClick={() => setAdding(true)}>
          Enqueue a task
        </button>
      )}
      {admin && policy.paused && (
        <button type="button" onClick={() => pause(false)}>
          Resume
        </button>
      )}
      {admin && !policy.paused && (
        <ConfirmButton
          label="Pause"
          title={`Pause ${queue}?`}
          buttonLabel="Pause"
          onConfirm={() => pause(true)}
        >
          <p>
            A paused queue accepts tasks and leases none until it is resumed. Running tasks
            continue.
          </p>
        </ConfirmButton>
      )}
      {enqueue && (
        <ConfirmButton
          danger
          label="Cancel waiting tasks"
          title={`Cancel all waiting tasks of ${queue}?`}
          buttonLabel="Cancel them"
          onConfirm={() =>
            start ? start(queue, { change: 'cancel', state: 'waiting' }) : cancel('waiting')
          }
        >
          <p>
            {plural(policy.waiting, 'task waits', 'tasks wait')}: for their time, a concurrency key
            or their parents. Each is cancelled.
          </p>
          {box}
        </ConfirmButton>
      )}
      {admin && (
        <ConfirmButton
          danger
          label="Purge"
          title={`Purge ${queue}?`}
          buttonLabel="Purge"
          word={queue}
          onConfirm={purge}
        >
          <p>
            All ready and waiting tasks,{' '}
            {plural((policy.ready ?? 0) + (policy.waiting ?? 0), 'task')}, are cancelled. This
            cannot be undone.
          </p>
        </ConfirmButton>
      )}
      {adding && <Enqueue queue={queue} onClose={() => setAdding(false)} />}
    </fieldset>
  );
}
