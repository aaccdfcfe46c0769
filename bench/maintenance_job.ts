import type { Place, System } from './types.ts';

/** A place's database, for how many seconds its windows have been open, and how often maintenance jobs were done. */
export type Opened = {
  place: Place;
  system: System;
  name: string;
  open: number;
  maintenance_jobs: number;
};

/** Does the system's maintenance job whenever its windows have been open for so long; returns what stops it. */
export function attend(opened: Opened | undefined): () => Promise<void> {
  const maintenance_job = opened?.system.maintenance_job;
  if (!opened || !maintenance_job) return async () => {};
  const from = performance.now();
  const seconds = () => opened.open + (performance.now() - from) / 1000;
  let last = Promise.resolve();
  const look = () => {
    if (seconds() < (opened.maintenance_jobs + 1) * maintenance_job.every) return;
    opened.maintenance_jobs = Math.floor(seconds() / maintenance_job.every);
    last = last.then(async () => void (await opened.place.client.query(maintenance_job.sql)));
    last.catch(() => {});
  };
  const timer = setInterval(look, 100);
  return async () => {
    clearInterval(timer);
    opened.open = seconds();
    await last;
  };
}
