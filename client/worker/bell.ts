/** Wakes whoever waits for something to change. */
export type Bell = { ring(): void; next(): Promise<void> };

export function bell(): Bell {
  let waiting: (() => void)[] = [];
  return {
    ring() {
      const all = waiting;
      waiting = [];
      for (const wake of all) wake();
    },
    next: () => new Promise((resolve) => waiting.push(resolve)),
  };
}
