/** Lets so many go at once, the others in the order in which they came. */
export function slots(count: number) {
  const line: (() => void)[] = [];
  let free = count;

  function leave(): void {
    const next = line.shift();
    if (next) next();
    else free++;
  }

  /** Resolves to what gives the place back; rejects when the signal aborts first. */
  return async function enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (free > 0) {
      free--;
      return leave;
    }
    return new Promise((resolve, reject) => {
      const come = () => {
        signal.removeEventListener('abort', go);
        resolve(leave);
      };
      const go = () => {
        line.splice(line.indexOf(come), 1);
        reject(signal.reason);
      };
      line.push(come);
      signal.addEventListener('abort', go, { once: true });
    });
  };
}
