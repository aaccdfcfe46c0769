const CHANGED = 'tock-changed';
let calls = 0;

/**
 * Awaits a call that changes something. When no other one is left, all parts of the page load again, so that their
 * numbers are of the same moment.
 */
export async function changing<T>(call: Promise<T>): Promise<T> {
  calls++;
  try {
    return await call;
  } finally {
    calls--;
    // Of calls that follow each other, the next one has begun by then.
    setTimeout(() => calls === 0 && dispatchEvent(new Event(CHANGED)));
  }
}

/** Calls `reload` after changes by the user; returns the function that ends this. */
export function onChanges(reload: () => void): () => void {
  addEventListener(CHANGED, reload);
  return () => removeEventListener(CHANGED, reload);
}
