import { useLayoutEffect, useState } from 'preact/hooks';

const CHANGED = 'tock-pause';
let paused = false;

/** Whether the user has paused the live updates of all pages. A refresh by hand still loads. */
export const isPaused = () => paused;

export function setPaused(value: boolean): void {
  paused = value;
  dispatchEvent(new Event(CHANGED));
}

/** Calls `onChange` when the updates are paused or resumed; returns the function that ends this. */
export function onPauseChange(onChange: () => void): () => void {
  addEventListener(CHANGED, onChange);
  return () => removeEventListener(CHANGED, onChange);
}

export function usePaused(): boolean {
  const [value, setValue] = useState(paused);
  useLayoutEffect(() => onPauseChange(() => setValue(paused)), []);
  return value;
}
