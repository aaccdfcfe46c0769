import { useState } from 'preact/hooks';
import { plural, pretty } from '../format.ts';
import { isLeaf, useHidden } from '../hidden_fields.ts';
import { CopyButton } from './empty.tsx';
import { Panel } from './panel.tsx';

const MOST_ENTRIES = 100;
const MOST_TEXT = 20_000;
/** Objects and arrays down to this depth are open at first, if they are small. */
const OPEN_DEPTH = 2;
const OPEN_ENTRIES = 20;

function Leaf({ value }: { value: unknown }) {
  const [all, setAll] = useState(false);
  const text = JSON.stringify(value) ?? 'null';
  if (text.length <= MOST_TEXT || all) return <span class={`json ${typeof value}`}>{text}</span>;
  return (
    <>
      <span class="json">{text.slice(0, MOST_TEXT)}…</span>{' '}
      <button type="button" onClick={() => setAll(true)}>
        Show all of {text.length} characters
      </button>
    </>
  );
}

function Branch({ name, value, depth }: { name?: string; value: object; depth: number }) {
  const [most, setMost] = useState(MOST_ENTRIES);
  const entries = Object.entries(value);
  const isArray = Array.isArray(value);
  const size = plural(entries.length, isArray ? 'item' : 'field');
  return (
    <details open={depth < OPEN_DEPTH && entries.length <= OPEN_ENTRIES}>
      <summary>
        {name !== undefined && <span class="json name">{name}: </span>}
        <span class="json size">
          {isArray ? '[' : '{'} {size} {isArray ? ']' : '}'}
        </span>
      </summary>
      <ul>
        {entries.slice(0, most).map(([key, item]) => (
          <li key={key}>
            <Node name={key} value={item} depth={depth + 1} />
          </li>
        ))}
      </ul>
      {entries.length > most && (
        <button type="button" onClick={() => setMost(most * 10)}>
          Show more of {size}
        </button>
      )}
    </details>
  );
}

function Node({ name, value, depth }: { name: string; value: unknown; depth: number }) {
  if (!isLeaf(value)) return <Branch name={name} value={value as object} depth={depth} />;
  return (
    <>
      <span class="json name">{name}: </span>
      <Leaf value={value} />
    </>
  );
}

/** JSON as a tree whose parts can be closed. The page never executes it. */
export function Tree({ value }: { value: unknown }) {
  return (
    <div class="tree">
      {isLeaf(value) ? <Leaf value={value} /> : <Branch value={value as object} depth={0} />}
    </div>
  );
}

/** A panel with JSON as a tree; nothing for null. */
export function Json({ title, value: whole }: { title: string; value: unknown }) {
  const value = useHidden().value(whole);
  if (value === null || value === undefined) return null;
  return (
    <Panel title={title} side={<CopyButton text={pretty(value)} />}>
      <Tree value={value} />
    </Panel>
  );
}
