import type { Place, System } from './types.ts';

/** A place's database, for how many seconds its windows have been open, and how often duties were done. */
export type Opened = { place: Place; system: System; name: string; open: number; duties: number };

/** Does the system's duty whenever its windows have been open for so long; returns what stops it. */
export function attend(opened: Opened | undefined): () => Promise<void> {
  const duty = opened?.system.duty;
  if (!opened || !duty) return async () => {};
  const from = performance.now();
  const seconds = () => opened.open + (performance.now() - from) / 1000;
  let last = Promise.resolve();
  const look = () => {
    if (seconds() < (opened.duties + 1) * duty.every) return;
    opened.duties = Math.floor(seconds() / duty.every);
    last = last.then(async () => void (await opened.place.client.query(duty.sql)));
    last.catch(() => {});
  };
  const timer = setInterval(look, 100);
  return async () => {
    clearInterval(timer);
    opened.open = seconds();
    await last;
  };
}
