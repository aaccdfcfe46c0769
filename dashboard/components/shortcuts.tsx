import { useState } from 'preact/hooks';
import { setSingleKeys, singleKeysOn } from '../keyboard.ts';
import { type PageEntry, pagesFor } from '../pages.ts';
import { useSession } from '../session.tsx';
import { Dialog } from './dialog.tsx';

const keys: [keys: string[], does: string][] = [
  [['Ctrl', 'K'], 'go to a page, a queue, a task or a schedule (Cmd K on a Mac)'],
  [['/'], 'search on this page'],
  [['j'], 'next row of the list'],
  [['k'], 'row before'],
  [['Enter'], "open the row's first link"],
  [['x'], 'select the row, where it has a box'],
  [['Esc'], 'close a dialog, leave a search field'],
  [['?'], 'this list'],
];

const rowOf = ({ letter, name }: PageEntry): [string[], string] => [['g', letter], `go to ${name}`];

/** The list of keys, and a switch for those who type by voice: single letters do nothing then. */
export function Shortcuts({ onClose }: { onClose(): void }) {
  const { keyInfo } = useSession();
  const [on, setOn] = useState(singleKeysOn());
  const rows = [...keys, ...pagesFor(keyInfo).map(rowOf)];
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      <p class="hint">This is Tock {TOCK_VERSION}.</p>
      <dl class="shortcuts">
        {rows.map(([names, does]) => (
          <div key={does}>
            <dt>
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <label class="check">
        <input
          type="checkbox"
          checked={on}
          onChange={({ currentTarget }) => {
            setSingleKeys(currentTarget.checked);
            setOn(currentTarget.checked);
          }}
        />
        Single letters are keys
      </label>
      <p class="buttons">
        <button type="button" class="main" onClick={onClose}>
          Close
        </button>
      </p>
    </Dialog>
  );
}
