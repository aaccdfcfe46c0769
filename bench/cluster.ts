import pg from 'pg';
import type { TestCluster } from '../scripts/stack/test_cluster.ts';

/** The settings for every system. All others are PostgreSQL's defaults. */
export const settings: Record<string, string> = {
  shared_buffers: '1GB',
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
  // Autovacuum of one system would run during the windows of another. Each system is vacuumed before its own windows.
  autovacuum: 'off',
  // The seed's set_tid() locks every free row if two connections bring the same number at once.
  max_locks_per_transaction: '1024',
};

export async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** Changes settings, and restarts the server if they need it. Returns the previous values, null for unset. */
export async function alter(
  { cluster }: TestCluster,
  changes: Record<string, string | null>,
): Promise<{ before: Record<string, string | null>; restarted: boolean }> {
  const before: Record<string, string | null> = {};
  let restarted = false;
  const client = await connected(cluster.url());
  try {
    for (const [name, value] of Object.entries(changes)) {
      const { rows } = await client.query(
        `select s.context, f.setting from pg_settings s left join pg_file_settings f
         on f.name = s.name and f.sourcefile like '%postgresql.auto.conf' where s.name = lower($1)`,
        [name],
      );
      if (!rows[0]) throw new Error(`PostgreSQL has no setting ${name}.`);
      before[name] = rows[0].setting;
      restarted ||= rows[0].context === 'postmaster';
      const to = value === null ? 'reset' : 'set';
      const text = value === null ? '' : ` = ${client.escapeLiteral(value)}`;
      await client.query(`alter system ${to} ${client.escapeIdentifier(name)}${text}`);
    }
    await client.query('select pg_reload_conf()');
  } finally {
    await client.end();
  }
  if (restarted) {
    await cluster.stop();
    await cluster.start();
  }
  return { before, restarted };
}

/** CPU seconds of the postmaster and all its children, user and system. */
export async function cpuSeconds({ cluster }: Pick<TestCluster, 'cluster'>): Promise<number> {
  const look = 'getconf CLK_TCK; cat /proc/[0-9]*/stat 2>/dev/null || true';
  const [hertz = '100', ...lines] = (await cluster.host.run(['sh', '-c', look])).split('\n');
  let ticks = 0;
  for (const line of lines) {
    const pid = Number.parseInt(line, 10);
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
    const [own, parent] = [fields.slice(11, 13), Number(fields[1])];
    if (pid !== cluster.pid && parent !== cluster.pid) continue;
    // The postmaster's fields include the CPU time of children that have ended.
    for (const used of pid === cluster.pid ? fields.slice(11, 15) : own) ticks += Number(used);
  }
  return ticks / Number(hertz);
}
