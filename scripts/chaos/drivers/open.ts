import type { Driver, OnOutcome } from './driver.ts';
import { httpDriver } from './http.ts';
import { planted } from './planted_faults.ts';
import { sqlDriver } from './sql.ts';

/** The target of a driver. SQL clients take the URLs in turn: the owner's, and that of tock_edge through PgBouncer. */
export type Target = { plants?: string[] } & (
  | { driver: 'http'; url: string; key: string }
  | { driver: 'sql'; urls: string[] }
);

export function openDriver(target: Target, onOutcome: OnOutcome, client: number): Driver {
  const driver =
    target.driver === 'http'
      ? httpDriver(target.url, target.key, onOutcome)
      : sqlDriver(target.urls[client % target.urls.length] as string, onOutcome);
  return (target.plants ?? []).reduce(planted, driver);
}
