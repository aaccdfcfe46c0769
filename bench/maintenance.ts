import type { System, TestDatabase } from './types.ts';

/** A test database, the total time of its windows, and the number of maintenance runs. */
export type Opened = {
  database: TestDatabase;
  system: System;
  name: string;
  open: number;
  maintenanceRuns: number;
};

/**
 * Runs the system's maintenance job each time its windows have been open for the given time. Returns a function that
 * stops this.
 */
export function attend(opened: Opened | undefined): () => Promise<void> {
  const maintenance = opened?.system.maintenance;
  if (!opened || !maintenance) return async () => {};
  const from = performance.now();
  const seconds = () => opened.open + (performance.now() - from) / 1000;
  let last = Promise.resolve();
  const look = () => {
    if (seconds() < (opened.maintenanceRuns + 1) * maintenance.every) return;
    opened.maintenanceRuns = Math.floor(seconds() / maintenance.every);
    last = last.then(async () => void (await opened.database.client.query(maintenance.sql)));
    last.catch(() => {});
  };
  const timer = setInterval(look, 100);
  return async () => {
    clearInterval(timer);
    opened.open = seconds();
    await last;
  };
}
