import { withClient } from '../stack/roles.ts';
import { type Chaos, pauseWhileRunning } from './chaos.ts';
import { privateMemory, type Sample } from './checker/resources.ts';
import type { Workers } from './load/workers.ts';

const used = `select
  (select array_agg(pid) from pg_stat_activity where backend_type <> 'client backend' or datname = 'tock') as pids,
  (select count(*)::integer from pg_stat_activity where backend_type = 'client backend') as connections,
  (select count(*)::integer from pg_class where relnamespace = 'tock'::regnamespace) as relations,
  (pg_database_size('tock') / 1e6)::float8 as megabytes`;

/** Measures resource usage every few seconds during the run. */
export async function measure(
  chaos: Chaos,
  workers: Workers,
  samples: Sample[],
  intervalMs: number,
) {
  const { stack } = chaos;
  while (chaos.running) {
    await pauseWhileRunning(chaos, intervalMs);
    const answer = await withClient(stack.superUrl, (client) => client.query(used)).catch(
      () => null,
    );
    const row = answer?.rows[0];
    if (!row) continue;
    samples.push({
      'MB of the database': row.megabytes,
      'MB of the server processes': stack.host.local ? privateMemory(row.pids) : 0,
      'MB of the workers': privateMemory(workers.pids()),
      relations: row.relations,
      connections: row.connections,
      'unfinished tasks': chaos.unfinished,
    });
  }
}
