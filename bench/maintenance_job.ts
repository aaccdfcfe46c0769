import type { System, TestDatabase } from './types.ts';

/** A test database, the total time of its windows, and the number of maintenance runs. */
export type Opened = {
  database: TestDatabase;
  system: System;
  name: string;
  open: number;
  maintenance_jobs: number;
};

/**
 * Runs the system's maintenance job each time its windows have been open for the given time; returns a function that
 * stops it.
 */
export function attend(opened: Opened | undefined): () => Promise<void> {
  const maintenance_job = opened?.system.maintenance_job;
  if (!opened || !maintenance_job) return async () => {};
  const from = performance.now();
  const seconds = () => opened.open + (performance.now() - from) / 1000;
  let last = Promise.resolve();
  const look = () => {
    if (seconds() < (opened.maintenance_jobs + 1) * maintenance_job.every) return;
    opened.maintenance_jobs = Math.floor(seconds() / maintenance_job.every);
    last = last.then(async () => void (await opened.database.client.query(maintenance_job.sql)));
    last.catch(() => {});
  };
  const timer = setInterval(look, 100);
  return async () => {
    clearInterval(timer);
    opened.open = seconds();
    await last;
  };
}
