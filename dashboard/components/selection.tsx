import { useMemo, useState } from 'preact/hooks';
import { plural } from '../format.ts';
import { useAction } from '../notifications.tsx';
import { useMay } from '../session.tsx';
import type { Listed } from '../types.ts';
import { ConfirmButton } from './confirm.tsx';
import { TaskTable } from './tables.tsx';

const ended = new Set<string>(['done', 'dead', 'cancelled', 'expired']);

type Props = {
  rows: Listed[];
  emptyText: string;
  ofOneQueue?: boolean;
  onChange(): void;
};

/** What the key may do with the selected tasks. */
function Actions({ chosen, onDone }: { chosen: Listed[]; onDone(): void }) {
  const action = useAction();
  const [target, setTarget] = useState('');
  const idsOf = (tasks: Listed[]) => tasks.map(({ id }) => id);
  const open = chosen.filter(({ state }) => !ended.has(state));
  const over = chosen.filter(({ state }) => ended.has(state));
  // A repeat after a lost answer is the same call, so that no task is rerun twice.
  const requestId = useMemo(() => crypto.randomUUID(), [idsOf(over).join()]);
  const changed = (verb: string) => (answer: { tasks: { changed: boolean }[] }) => {
    const n = answer.tasks.filter((task) => task.changed).length;
    return `${plural(n, 'task is', 'tasks are')} ${verb}.`;
  };
  const run = async (work: Promise<unknown>) => {
    if (await work) onDone();
  };
  return (
    <fieldset class="buttons selection" aria-label="Selected tasks">
      <strong role="status">{plural(chosen.length, 'task')} selected</strong>
      {over.length > 0 && (
        <ConfirmButton
          label={`Rerun ${over.length}`}
          title={`Rerun ${plural(over.length, 'task')}?`}
          buttonLabel="Rerun"
          onConfirm={() => {
            const body = {
              ids: idsOf(over),
              request_id: requestId,
              reason: 'from the dashboard',
            };
            const message = (answer: { tasks: { rerun_id: string | null }[] }) => {
              const n = answer.tasks.filter((task) => task.rerun_id).length;
              return `${plural(n, 'task is', 'tasks are')} rerun.`;
            };
            return run(action('POST /v1/tasks/rerun', { body }, message));
          }}
        >
          <p>Each runs again as a new task.</p>
        </ConfirmButton>
      )}
      {open.length > 0 && (
        <>
          <ConfirmButton
            label={`Move ${open.length}`}
            title={`Move ${plural(open.length, 'task')} to another queue?`}
            buttonLabel="Move"
            onConfirm={() =>
              run(
                action(
                  'POST /v1/tasks/move',
                  { body: { ids: idsOf(open), queue: target.trim() } },
                  changed(`moved to ${target.trim()}`),
                ),
              )
            }
          >
            <label>
              Queue
              <input
                value={target}
                onInput={({ currentTarget }) => setTarget(currentTarget.value)}
              />
            </label>
            <p>Running tasks stay where they are.</p>
          </ConfirmButton>
          <ConfirmButton
            danger
            label={`Cancel ${open.length}`}
            title={`Cancel ${plural(open.length, 'task')}?`}
            buttonLabel="Cancel them"
            onConfirm={() =>
              run(
                action(
                  'POST /v1/tasks/cancel',
                  { body: { ids: idsOf(open) } },
                  changed('cancelled'),
                ),
              )
            }
          >
            <p>They will not run. The workers of running ones are asked to stop.</p>
          </ConfirmButton>
        </>
      )}
    </fieldset>
  );
}

/** A list of tasks from which a key that may change them selects some. */
export function SelectableTasks({ rows, emptyText, ofOneQueue, onChange }: Props) {
  const may = useMay();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const changeable = rows.filter(({ queue }) => may('enqueue', queue));
  const chosen = changeable.filter(({ id }) => selected.has(id));
  const toggle = (ids: string[], on: boolean) =>
    setSelected((previous) => {
      const next = new Set(previous);
      for (const id of ids) on ? next.add(id) : next.delete(id);
      return next;
    });
  const all = changeable.length > 0 && chosen.length === changeable.length;
  const box = changeable.length > 0 && {
    name: 'Select',
    show: ({ id, queue }: Listed) =>
      may('enqueue', queue) && (
        <input
          type="checkbox"
          aria-label={`Select task ${id}`}
          checked={selected.has(id)}
          onChange={({ currentTarget }) => toggle([id], currentTarget.checked)}
        />
      ),
  };
  return (
    <>
      {changeable.length > 0 && (
        <label class="check">
          <input
            type="checkbox"
            checked={all}
            onChange={({ currentTarget }) =>
              toggle(
                changeable.map(({ id }) => id),
                currentTarget.checked,
              )
            }
          />
          Select all that are shown
        </label>
      )}
      {chosen.length > 0 && (
        <Actions
          chosen={chosen}
          onDone={() => {
            setSelected(new Set());
            onChange();
          }}
        />
      )}
      <TaskTable
        rows={rows}
        emptyText={emptyText}
        {...(ofOneQueue && { ofOneQueue })}
        {...(box && { box })}
      />
    </>
  );
}
