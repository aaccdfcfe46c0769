import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { plural } from '../format.ts';
import { useMay } from '../session.tsx';
import type { Listed } from '../types.ts';
import { useChanges } from './task_changes.tsx';
import { TaskTable } from './task_table.tsx';

type Props = {
  rows: Listed[];
  emptyText: ComponentChildren;
  ofOneQueue?: boolean;
};

/** A list of tasks from which a key that may change them selects some. */
export function SelectableTasks({ rows, emptyText, ofOneQueue }: Props) {
  const may = useMay();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<string | null>(null);
  const changeable = rows.filter(({ queue }) => may('enqueue', queue));
  const chosen = changeable.filter(({ id }) => selected.has(id));
  const toggle = (ids: string[], on: boolean) =>
    setSelected((previous) => {
      const next = new Set(previous);
      for (const id of ids) on ? next.add(id) : next.delete(id);
      return next;
    });
  /** With Shift the box also sets all boxes from the one before. */
  const toggleTo = (
    id: string,
    { checked, withShift }: { checked: boolean; withShift: boolean },
  ) => {
    const ids = changeable.map((row) => row.id);
    const [from, to] = [ids.indexOf(last.current ?? id), ids.indexOf(id)];
    last.current = id;
    if (!withShift || from < 0) return toggle([id], checked);
    toggle(ids.slice(Math.min(from, to), Math.max(from, to) + 1), checked);
  };
  const all = changeable.length > 0 && chosen.length === changeable.length;
  const box = changeable.length > 0 && {
    name: 'Select',
    box: true,
    head: (
      <label>
        <input
          type="checkbox"
          aria-label="Select all that are shown"
          checked={all}
          onChange={({ currentTarget }) =>
            toggle(
              changeable.map(({ id }) => id),
              currentTarget.checked,
            )
          }
        />
        <span class="all">All</span>
      </label>
    ),
    show: ({ id, queue }: Listed) =>
      may('enqueue', queue) && (
        <input
          type="checkbox"
          aria-label={`Select task ${id}`}
          checked={selected.has(id)}
          onClick={({ currentTarget, shiftKey }) =>
            toggleTo(id, { checked: currentTarget.checked, withShift: shiftKey })
          }
        />
      ),
  };
  const { buttons, dialog } = useChanges(chosen, () => setSelected(new Set()));
  return (
    <>
      {chosen.length > 0 && (
        <fieldset class="buttons selection" aria-label="Selected tasks">
          <strong role="status">{plural(chosen.length, 'task')} selected</strong>
          {buttons}
        </fieldset>
      )}
      {dialog}
      <TaskTable
        rows={rows}
        emptyText={emptyText}
        {...(ofOneQueue && { ofOneQueue })}
        {...(box && { box })}
      />
    </>
  );
}
