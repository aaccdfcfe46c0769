/** Wakes all waiters when something changes. */
export type Notifier = { notify(): void; next(): Promise<void> };

export function createNotifier(): Notifier {
  let waiting: (() => void)[] = [];
  return {
    notify() {
      const waiters = waiting;
      waiting = [];
      for (const wake of waiters) wake();
    },
    next: () => new Promise((resolve) => waiting.push(resolve)),
  };
}
