import { withClient } from '../stack/roles.ts';
import { type Chaos, whileGoing } from './chaos.ts';
import { memoryOf, type Sample } from './judge/resources.ts';
import type { Crew } from './load/crew.ts';

const used = `select
  (select array_agg(pid) from pg_stat_activity where backend_type <> 'client backend' or datname = 'tock') as pids,
  (select count(*)::integer from pg_stat_activity where backend_type = 'client backend') as connections,
  (select count(*)::integer from pg_class where relnamespace = 'tock'::regnamespace) as relations,
  (pg_database_size('tock') / 1e6)::float8 as megabytes`;

/** What the system uses, every few seconds while the work goes on. */
export async function measure(chaos: Chaos, crew: Crew, samples: Sample[], every: number) {
  const { stack } = chaos;
  while (chaos.going) {
    await whileGoing(chaos, every);
    const answer = await withClient(stack.superUrl, (on) => on.query(used)).catch(() => null);
    const row = answer?.rows[0];
    if (!row) continue;
    samples.push({
      'MB of the database': row.megabytes,
      'MB of the server processes': stack.host.local ? memoryOf(row.pids) : 0,
      'MB of the workers': memoryOf(crew.pids()),
      relations: row.relations,
      connections: row.connections,
      'unfinished tasks': chaos.unfinished,
    });
  }
}
