import type { Host } from '../scripts/stack/host.ts';
import { closedBarrier } from './barrier.ts';
import type { TestDatabase, Worker } from './types.ts';

let count = 0;

// The variables need first values, because \aset leaves a variable unchanged if a claim returns no row.
const first = ['met=0', 'lease=00000000-0000-0000-0000-000000000000', 'id=0', 'ids={}'];

/** The errors in pgbench's output; null if there are none. */
function complaint(out: string): string | null {
  const errors = out.split('\n').filter((line) => /error|fatal|detail|hint/i.test(line));
  if (errors.length > 0) return errors.slice(0, 5).join('\n');
  const failed = Number(/number of failed transactions: (\d+)/.exec(out)?.[1] ?? 0);
  if (failed > 0) return `${failed} transactions failed to serialize`;
  return out.includes('transactions actually processed') ? null : `pgbench: ${out}`;
}

/** Starts a script with -M prepared. An error in the script rejects with PostgreSQL's message. */
export async function startPgbench(
  host: Host,
  database: TestDatabase,
  script: string,
  clients: number,
): Promise<Worker> {
  const barrier = await closedBarrier(database, script, clients);
  const file = `${host.folder}/bench-${++count}.sql`;
  const log = `${file}.log`;
  await host.write(file, barrier.script);
  const argv = [
    ...[`${host.bin}/pgbench`, '-n', '-M', 'prepared', '-T', '3600', '-f', file],
    ...['-c', String(clients), '-j', String(Math.min(2, clients))],
    ...first.flatMap((value) => ['-D', value]),
    barrier.url,
  ];
  const daemon = await host.start(argv, { log, orphaned: 'SIGKILL' });
  let running = true;
  const over = daemon.ended.then(async () => {
    running = false;
    const wrong = complaint((await host.read(log)) ?? '');
    if (wrong) throw new Error(wrong);
  });
  over.catch(() => {});
  const ready = barrier.connected();
  ready.catch(() => {});
  return {
    ready,
    over,
    meet: barrier.meet,
    go: barrier.open,
    // SIGALRM ends pgbench as its option -T does: after the current iterations.
    stop: () => daemon.signal('SIGALRM'),
    async close() {
      if (running) await daemon.signal('SIGKILL');
      await daemon.ended;
      await barrier.close();
      for (const path of [file, log]) await host.remove(path);
    },
  };
}
