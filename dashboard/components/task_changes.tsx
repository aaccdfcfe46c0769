import { useRef, useState } from 'preact/hooks';
import { Refused } from '../api.ts';
import { count, plural } from '../format.ts';
import { sentences, useNotify } from '../notifications.tsx';
import { useSession } from '../session.tsx';
import {
  type Batch,
  batchesOf,
  type Change,
  type Changeable,
  changes,
  outcome,
} from '../task_changes.ts';
import { Bar } from './bar.tsx';
import { Dialog } from './dialog.tsx';

export function ChangeInput({
  name,
  value,
  set,
}: {
  name: 'queue' | 'priority';
  value: string;
  set(value: string): void;
}) {
  if (name === 'queue')
    return (
      <label>
        Queue
        <input required value={value} onInput={({ currentTarget }) => set(currentTarget.value)} />
      </label>
    );
  return (
    <label>
      Priority
      <select value={value} onChange={({ currentTarget }) => set(currentTarget.value)}>
        {[...'0123456789'].map((priority) => (
          <option key={priority} value={priority}>
            {priority}
          </option>
        ))}
      </select>
    </label>
  );
}

type Progress = { batches: number; tasks: number; changed: number };

/** Asks, then makes a change batch by batch, until it is done, stopped or refused. */
function ChangeDialog({
  change,
  batches,
  total,
  onClose,
}: {
  change: Change;
  batches: Batch[];
  total: number;
  /** Called with true if tasks may have changed. */
  onClose(isChanged: boolean): void;
}) {
  const { key } = useSession();
  const notify = useNotify();
  const [value, setValue] = useState(change.input === 'priority' ? '5' : '');
  const [progress, setProgress] = useState<Progress>({ batches: 0, tasks: 0, changed: 0 });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const stopped = useRef(false);
  const closed = useRef(false);
  const text = value.trim();
  const hasBegun = progress.batches > 0;

  const run = async (event: Event) => {
    event.preventDefault();
    stopped.current = false;
    setBusy(true);
    setError(null);
    let { batches: next, tasks, changed } = progress;
    try {
      for (let batch = batches[next]; batch && !stopped.current; batch = batches[++next]) {
        changed += await change.send(key, batch, text);
        tasks += batch.ids.length;
        setProgress({ batches: next + 1, tasks, changed });
      }
      if (next < batches.length) return closed.current && onClose(true);
      notify({ text: outcome(change, changed, text), isError: false });
      onClose(true);
    } catch (thrown) {
      if (closed.current) return onClose(true);
      setError(thrown instanceof Refused ? sentences(thrown) : String(thrown));
    } finally {
      setBusy(false);
    }
  };

  // Escape stops the change, and the call in progress still counts.
  const close = () => {
    stopped.current = true;
    closed.current = true;
    if (!busy) onClose(hasBegun);
  };

  return (
    <Dialog title={change.title(plural(total, 'task'))} onClose={close}>
      <form onSubmit={run}>
        {change.input && !hasBegun && !busy && (
          <ChangeInput name={change.input} value={value} set={setValue} />
        )}
        <p>{change.text}</p>
        {busy && total > 1000 && <p class="hint">Keep this tab open until the change has ended.</p>}
        {(hasBegun || busy) && (
          <div role="status">
            <Bar
              part={progress.tasks}
              whole={total}
              text={`${count(progress.tasks)} of ${plural(total, 'task')}: ${outcome(change, progress.changed, text)}`}
            />
          </div>
        )}
        <div role="alert">{error && <p class="problem">{error}</p>}</div>
        <p class="buttons">
          {busy ? (
            <button type="button" onClick={() => (stopped.current = true)}>
              Stop
            </button>
          ) : (
            <>
              <button type="button" onClick={() => onClose(hasBegun)}>
                {hasBegun ? 'Close' : change.name === 'Cancel' ? 'Back' : 'Cancel'}
              </button>
              <button type="submit" class={change.danger ? 'danger' : 'main'}>
                {hasBegun ? 'Continue' : change.confirmLabel}
              </button>
            </>
          )}
        </p>
      </form>
    </Dialog>
  );
}

type Asked = { change: Change; ids: string; batches: Batch[]; total: number };

/**
 * The buttons for what the key may do with some tasks, and the dialog that they open. The dialog keeps the tasks that it
 * was opened with, also if the list has others by then, so it is shown even where the buttons no longer are. A change
 * whose answer was lost is the same call, with the same request ids, when the dialog is opened for the same tasks again.
 */
export function useChanges(tasks: Changeable[], onDone: () => void) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const [open, setOpen] = useState(false);
  const ask = (change: Change, list: string[]) => {
    const ids = list.join();
    if (asked?.change !== change || asked.ids !== ids)
      setAsked({ change, ids, batches: batchesOf(list), total: list.length });
    setOpen(true);
  };
  const offered = changes
    .map((change) => ({ change, ids: tasks.filter(change.appliesTo).map(({ id }) => id) }))
    .filter(({ ids }) => ids.length > 0);
  const buttons = offered.map(({ change, ids }) => (
    <button
      key={change.name}
      type="button"
      aria-haspopup="dialog"
      class={change.danger ? 'danger' : ''}
      onClick={() => ask(change, ids)}
    >
      {change.name} {count(ids.length)}
    </button>
  ));
  const dialog = open && asked && (
    <ChangeDialog
      {...asked}
      onClose={(isChanged) => {
        setOpen(false);
        if (!isChanged) return;
        setAsked(null);
        onDone();
      }}
    />
  );
  return { buttons, dialog };
}

export function ChangeButtons({ tasks, onDone }: { tasks: Changeable[]; onDone(): void }) {
  const { buttons, dialog } = useChanges(tasks, onDone);
  return (
    <>
      {buttons}
      {dialog}
    </>
  );
}
