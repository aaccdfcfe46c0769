import { useLayoutEffect, useRef } from 'preact/hooks';
import { href } from './route.ts';

/** After `g`, the letter of a page must come within this time. */
const LETTER_MS = 1500;

const STORED_OFF = 'tock-single-keys-off';
export const singleKeysOn = () => localStorage.getItem(STORED_OFF) === null;
export function setSingleKeys(on: boolean): void {
  if (on) localStorage.removeItem(STORED_OFF);
  else localStorage.setItem(STORED_OFF, '1');
}

/** Boxes and buttons take no text, so the keys work in them. */
const typesInto = (target: EventTarget | null) =>
  target instanceof Element &&
  target.closest('input:not([type="checkbox"]), textarea, select, [contenteditable]') !== null;

const isShown = (element: Element) => element.getClientRects().length > 0;

/** The rows of the table that has the focus, else of the first table with rows. Tables in charts do not count. */
function rowsOfList(): HTMLElement[] {
  const focused = document.activeElement?.closest('.scroll');
  const list = focused ?? [...document.querySelectorAll('main .scroll')].find(isShown);
  return [...(list?.querySelectorAll<HTMLElement>('tbody tr') ?? [])];
}

function moveRow(by: number): void {
  const rows = rowsOfList();
  const present = rows.findIndex((row) => row.contains(document.activeElement));
  const next = present < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, present + by));
  const row = rows[next];
  if (!row) return;
  // Only now can the row have the focus, so a click does not give it.
  row.tabIndex = -1;
  row.focus();
}

const presentRow = () => document.activeElement?.closest<HTMLElement>('main tbody tr') ?? null;

/** Focuses the search field of the page. Returns false if the page has none. */
function focusSearch(): boolean {
  const fields = document.querySelectorAll<HTMLInputElement>(
    'main input[type="search"], main search input',
  );
  const field = [...fields].find(isShown);
  field?.focus();
  field?.select();
  return field !== undefined;
}

type Handlers = {
  /** The path of the page for a letter after `g`; undefined if there is none. */
  pathOf(letter: string): string | undefined;
  openPalette(): void;
  openHelp(): void;
};

/**
 * The keys of the page. No single key works in a text field, in a dialog or with a modifier. Ctrl+K and Cmd+K work
 * everywhere outside dialogs.
 */
export function useKeyboard(handlers: Handlers): void {
  const current = useRef(handlers);
  current.current = handlers;
  // Before the first picture of the page, because people press a key as soon as they see it.
  useLayoutEffect(() => {
    let letterUntil = 0;
    const act = (event: KeyboardEvent): boolean => {
      const { pathOf, openPalette, openHelp } = current.current;
      const row = presentRow();
      if (event.timeStamp < letterUntil) {
        letterUntil = 0;
        const path = pathOf(event.key);
        if (path !== undefined) location.hash = href([path]);
        return path !== undefined;
      }
      switch (event.key) {
        case 'g':
          letterUntil = event.timeStamp + LETTER_MS;
          return true;
        case 'j':
          moveRow(1);
          return true;
        case 'k':
          moveRow(-1);
          return true;
        case 'x':
          row?.querySelector<HTMLInputElement>('input[type="checkbox"]')?.click();
          return true;
        case 'Enter':
          // A link or button in the row has its own Enter.
          if (!row || document.activeElement !== row) return false;
          row.querySelector('a')?.click();
          return true;
        case '/':
          if (!focusSearch()) openPalette();
          return true;
        case '?':
          openHelp();
          return true;
        default:
          return false;
      }
    };
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || document.querySelector('dialog[open]')) return;
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        current.current.openPalette();
        return;
      }
      const { target, key } = event;
      // Escape leaves the field that `/` has focused.
      if (key === 'Escape' && target instanceof HTMLElement && target.closest('main search, .find'))
        target.blur();
      if (event.ctrlKey || event.metaKey || event.altKey || typesInto(target)) return;
      // Only moves repeat while their key is held.
      if (event.repeat && key !== 'j' && key !== 'k') return;
      if (singleKeysOn() && act(event)) event.preventDefault();
    };
    addEventListener('keydown', onKeyDown);
    return () => removeEventListener('keydown', onKeyDown);
  }, []);
}
