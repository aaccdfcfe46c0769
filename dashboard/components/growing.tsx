import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { count } from '../format.ts';

const SHOWN = 50;

/** The first rows of a long list, and a button for more of them. */
export function Growing<Row>({
  rows,
  show,
}: {
  rows: Row[];
  show(rows: Row[]): ComponentChildren;
}) {
  const [most, setMost] = useState(SHOWN);
  return (
    <>
      {show(rows.slice(0, most))}
      {rows.length > most && (
        <p class="buttons">
          <button type="button" onClick={() => setMost(most + SHOWN)}>
            Show more of {count(rows.length)}
          </button>
        </p>
      )}
    </>
  );
}
