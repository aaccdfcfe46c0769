import type { Driver, Heard } from './driver.ts';
import { httpDriver } from './http.ts';
import { planted } from './planted.ts';
import { sqlDriver } from './sql.ts';

/** Where a driver connects. In SQL the clients take turns: direct as the owner, and as tock_edge through PgBouncer. */
export type Target = { plants?: string[] } & (
  | { driver: 'http'; url: string; key: string }
  | { driver: 'sql'; urls: string[] }
);

export function openDriver(target: Target, heard: Heard, client: number): Driver {
  const driver =
    target.driver === 'http'
      ? httpDriver(target.url, target.key, heard)
      : sqlDriver(target.urls[client % target.urls.length] as string, heard);
  return (target.plants ?? []).reduce(planted, driver);
}
