import { useState } from 'preact/hooks';
import type { Column } from './table.tsx';

const NAME = 'tock-hidden-columns';

function storedNames(): string[] {
  try {
    return JSON.parse(localStorage.getItem(NAME) ?? '[]');
  } catch {
    return [];
  }
}

/** The columns of a list that the user has not hidden, and the boxes to choose them. The browser keeps the choice. */
export function useColumns<Row>(columns: Column<Row>[]) {
  const [hidden, setHidden] = useState(storedNames);
  const toggle = (name: string, on: boolean) => {
    const names = hidden.filter((other) => other !== name);
    if (!on) names.push(name);
    localStorage.setItem(NAME, JSON.stringify(names));
    setHidden(names);
  };
  const choice = (
    <details class="columns">
      <summary>Columns</summary>
      <fieldset class="buttons" aria-label="Columns of the list">
        {columns.map(({ name }) => (
          <label key={name} class="check">
            <input
              type="checkbox"
              aria-label={`Column ${name}`}
              checked={!hidden.includes(name)}
              onChange={({ currentTarget }) => toggle(name, currentTarget.checked)}
            />{' '}
            {name}
          </label>
        ))}
      </fieldset>
    </details>
  );
  return { chosen: columns.filter(({ name }) => !hidden.includes(name)), choice };
}
