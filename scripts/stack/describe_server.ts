import type { Host } from './host.ts';
import { withClient } from './roles.ts';

/** The versions of a server, like `15.18` and pg_cron `1.4-1`; null without pg_cron. */
export async function askVersions(url: string): Promise<{ postgres: string; cron: string | null }> {
  return withClient(url, async (client) => {
    const { rows } = await client.query(`
      select split_part(current_setting('server_version'), ' ', 1) as postgres,
        (select default_version from pg_available_extensions where name = 'pg_cron') as cron`);
    return rows[0];
  });
}

/** A description like `PostgreSQL 17.6 of Debian 13 in a folder, with pg_cron 1.6`. */
export async function describeServer(
  { origin }: Pick<Host, 'origin'>,
  url: string,
): Promise<string> {
  const { postgres, cron } = await askVersions(url);
  return `PostgreSQL ${postgres} ${origin}, ${cron ? `with pg_cron ${cron}` : 'without pg_cron'}`;
}
