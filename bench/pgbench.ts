import type { Host } from '../scripts/stack/host.ts';

export type Load = { clients: number; seconds: number };

let count = 0;

// \aset leaves a variable as it is when no row comes, and the first claim may find nothing
const nothing = ['lease=00000000-0000-0000-0000-000000000000', 'id=0', 'ids={}'];

function field(out: string, pattern: RegExp): number {
  return Number(out.match(pattern)?.[1] ?? 0);
}

// What the host tells of a failure is the end of its output, and there pgbench has its statistics.
const errorsOnly = `"$@" > "$0" 2>&1; code=$?
if [ $code = 0 ]; then cat "$0"; else grep -iE "error|fatal|detail|hint" "$0" | head -n 5; fi
rm -f "$0"; exit $code`;

function explained(error: unknown): Error {
  const text = error instanceof Error ? error.message : String(error);
  const [, code, said] = text.match(/ended with code (\d+):\n([\s\S]*)$/) ?? [];
  if (code === '124') return new Error('pgbench did not end in time');
  return new Error(said || text);
}

/** For how many seconds its connections were at work, and how often the script was done. */
export type Done = { seconds: number; calls: number };

/**
 * Runs a script with -M prepared for at least the seconds asked for, in whole ones. Whatever goes wrong
 * in a script is an error with PostgreSQL's message.
 */
export async function pgbench(
  host: Host,
  url: string,
  script: string,
  { clients, seconds }: Load,
): Promise<Done> {
  const file = `${host.folder}/bench-${++count}.sql`;
  const whole = Math.max(1, Math.ceil(seconds));
  await host.write(file, script);
  try {
    const out = await host.run([
      ...['sh', '-c', errorsOnly, `${file}.out`],
      // ends its own child, wherever the host's processes are
      ...['timeout', '--kill-after=5', String(whole + 60)],
      ...[`${host.bin}/pgbench`, '-n', '-M', 'prepared', '-T', String(whole), '-f', file],
      ...['-c', String(clients), '-j', String(Math.min(2, clients))],
      ...nothing.flatMap((value) => ['-D', value]),
      url,
    ]);
    const failed = field(out, /number of failed transactions: (\d+)/);
    if (failed > 0) throw new Error(`${failed} transactions failed to serialize`);
    const calls = field(out, /number of transactions actually processed: (\d+)/);
    if (calls === 0) throw new Error('all the time went by before its connections were there');
    return { calls, seconds: calls / field(out, /^tps = ([\d.]+)/m) || whole };
  } catch (error) {
    throw explained(error);
  } finally {
    await host.remove(file);
  }
}
