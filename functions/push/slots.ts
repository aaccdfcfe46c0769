/** A FIFO semaphore. */
export function createSemaphore(count: number) {
  const waiters: (() => void)[] = [];
  let free = count;

  function leave(): void {
    const next = waiters.shift();
    if (next) next();
    else free++;
  }

  /** Takes a slot and resolves to the function that releases it; rejects if the signal aborts first. */
  return async function enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (free > 0) {
      free--;
      return leave;
    }
    return new Promise((resolve, reject) => {
      const admit = () => {
        signal.removeEventListener('abort', cancel);
        resolve(leave);
      };
      const cancel = () => {
        waiters.splice(waiters.indexOf(admit), 1);
        reject(signal.reason);
      };
      waiters.push(admit);
      signal.addEventListener('abort', cancel, { once: true });
    });
  };
}
