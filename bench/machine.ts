import { cpus, release, totalmem, type } from 'node:os';
import { askVersions } from '../scripts/stack/describe_server.ts';
import { attempt } from '../scripts/stack/run.ts';
import type { TestCluster } from '../scripts/stack/test_cluster.ts';
import { connected } from './cluster.ts';

/** The machine and versions of a measurement. */
export function machine() {
  const all = cpus();
  return {
    cpu: all[0]?.model.trim() ?? 'unknown',
    cores: all.length,
    memory_gib: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
  };
}

async function commit(): Promise<string> {
  const argv = ['git', 'describe', '--always', '--dirty'];
  const { code, output } = await attempt(argv, { cwd: import.meta.dirname }).catch(() => ({
    code: 1,
    output: '',
  }));
  return code === 0 ? output.trim() : 'unknown';
}

export async function versions({ cluster }: TestCluster): Promise<Record<string, string>> {
  const { postgres } = await askVersions(cluster.url());
  return {
    postgres: `${postgres} ${cluster.host.origin}`,
    node: process.versions.node,
    tock: await commit(),
  };
}

/** Every setting of the cluster that is not PostgreSQL's default. */
export async function changed(stack: TestCluster): Promise<Record<string, string>> {
  const client = await connected(stack.cluster.url());
  try {
    const { rows } = await client.query(`
      select name, current_setting(name) as value from pg_settings
      where source = 'configuration file' and name not in ('port', 'listen_addresses', 'cron.database_name')
        and name !~ '^(log_|lc_|default_text|unix_|TimeZone|DateStyle)' or name = 'data_checksums'
      order by name`);
    return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
  } finally {
    await client.end();
  }
}
