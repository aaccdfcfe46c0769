import { useState } from 'preact/hooks';
import type { Body, Query } from '../../client/wire.ts';
import { useAction } from '../notifications.tsx';
import { href } from '../route.ts';
import { useMay, useSession } from '../session.tsx';
import { ConfirmButton } from './confirm.tsx';
import { ChangeInput } from './task_changes.tsx';

type BulkChange = Body<'POST /v1/queues/{queue}/bulk-changes'>;
type Start = (queue: string, change: BulkChange) => Promise<void>;

/** From this number of tasks on, a dialog proposes to change them in the background. */
const MANY = 10_000;

/** Starts a bulk change and goes to the page that shows it. Null for a key that the server would refuse. */
export function useBackground(): Start | null {
  const { keyInfo } = useSession();
  const action = useAction();
  if (keyInfo.tenants !== null) return null;
  return async (queue, change) => {
    const body = { ...change, request_id: crypto.randomUUID() };
    const started = await action(
      'POST /v1/queues/{queue}/bulk-changes',
      { path: { queue }, body },
      ({ id }) => `Bulk change ${id} has started.`,
    );
    if (started) location.hash = href(['bulk_changes'], keyInfo.queues ? { queue } : {});
  };
}

/** Whether a change of so many tasks goes on in the background, and the box that asks. */
export function useBackgroundChoice(tasks: number) {
  const start = useBackground();
  const [choice, setChoice] = useState<boolean | null>(null);
  const chosen = choice ?? tasks > MANY;
  return {
    start: chosen ? start : null,
    box: start && (
      <label class="check">
        <input
          type="checkbox"
          checked={chosen}
          onChange={({ currentTarget }) => setChoice(currentTarget.checked)}
        />
        In the background: the database goes on, also when this tab is closed
      </label>
    ),
  };
}

type Filter = Query<'GET /v1/tasks'>;
type FilterName = keyof Filter;

/** The part of a filter that a bulk change takes; null if it has more. */
function bulkFilterOf(filter: Filter) {
  const names = Object.keys(filter).filter((name) => filter[name as FilterName]);
  const hasOnly = (...known: FilterName[]) =>
    names.every((name) => known.includes(name as FilterName));
  const { queue, tenant, error, rerun } = filter;
  const state = error ? 'dead' : filter.state;
  if (!queue) return null;
  // A redrive leaves out the tasks that have a rerun.
  if (
    state === 'dead' &&
    String(rerun) !== 'true' &&
    hasOnly('queue', 'state', 'tenant', 'error', 'rerun')
  )
    return { queue, state, tenant, error };
  if (state !== 'waiting' && state !== 'ready' && state !== 'running') return null;
  return hasOnly('queue', 'state', 'tenant') ? { queue, state, tenant } : null;
}

/** What the database may do with all tasks that match a filter, without counting them first. */
export function BackgroundChanges({ filter }: { filter: Filter }) {
  const start = useBackground();
  const may = useMay();
  const [priority, setPriority] = useState('5');
  const found = bulkFilterOf(filter);
  if (!start || !found || !may('enqueue', found.queue)) return null;
  const { queue, state, tenant, error } = found;
  const tasks = `all ${state} tasks of ${queue}${error ? ' with this error' : ''}`;
  const text = (
    <>
      {tenant && <p>Only those of the tenant {tenant}.</p>}
      {error && <p class="error">{error}</p>}
      <p>
        The database changes them, also when this tab is closed. Tasks that come later are left out.
      </p>
    </>
  );
  if (state === 'dead')
    return (
      <fieldset class="buttons" aria-label="In the background">
        <ConfirmButton
          label="Redrive all in the background"
          title={`Redrive ${tasks}?`}
          buttonLabel="Redrive"
          onConfirm={() =>
            start(queue, { change: 'redrive', tenant, error, reason: 'from the dashboard' })
          }
        >
          {text}
          <p>Dead tasks that were run again already are left out too.</p>
        </ConfirmButton>
      </fieldset>
    );
  return (
    <fieldset class="buttons" aria-label="In the background">
      <ConfirmButton
        label="Change the priority of all in the background"
        title={`Change the priority of ${tasks}?`}
        buttonLabel="Change"
        onConfirm={() =>
          start(queue, { change: 'reprioritize', state, tenant, priority: Number(priority) })
        }
      >
        <ChangeInput name="priority" value={priority} set={setPriority} />
        {text}
      </ConfirmButton>
      <ConfirmButton
        danger
        label="Cancel all in the background"
        title={`Cancel ${tasks}?`}
        buttonLabel="Cancel them"
        onConfirm={() => start(queue, { change: 'cancel', state, tenant })}
      >
        {text}
      </ConfirmButton>
    </fieldset>
  );
}
