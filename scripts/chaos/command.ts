import { parseArgs } from 'node:util';
import { plantNames } from './drivers/planted_faults.ts';
import { planFaults } from './faults/plan.ts';
import { run } from './harness.ts';

const print = (line: string) => void process.stdout.write(`${line}\n`);

/** `npm run torture` and `npm run soak`: the harness with kills, or without kills and for longer. */
export async function command(name: 'torture' | 'soak', seconds: number): Promise<never> {
  const usage = `Usage: npm run ${name} -- [--driver <sql|http>] [--seconds <n>] [--seed <n>] [--plan] [--plant <name>]
  --driver <name>   how clients and workers call Tock: sql, or http (http)
  --seconds <n>     duration of work and faults (${seconds}), without the drain and the checks that follow
  --seed <n>        seed of the random numbers (1): the same seed repeats all faults and each client's decisions, but
                    not the order in which the clients' calls arrive
  --plan            show the faults and their times, and do nothing
  --plant <name>    break the driver, so that the checker must find it; may be repeated: ${plantNames.join(', ')}`;

  function fail(problem: string): never {
    print(`${problem}\n${usage}`);
    process.exit(2);
  }
  function parseOptions() {
    try {
      return parseArgs({
        options: {
          driver: { type: 'string', default: 'http' },
          seconds: { type: 'string', default: String(seconds) },
          seed: { type: 'string', default: '1' },
          plan: { type: 'boolean' },
          plant: { type: 'string', multiple: true },
          help: { type: 'boolean', short: 'h' },
        },
      }).values;
    } catch (error) {
      return fail((error as Error).message);
    }
  }
  const values = parseOptions();
  const { driver, plant: plants = [] } = values;
  if (values.help) {
    print(usage);
    process.exit(0);
  }
  const options = { seconds: Number(values.seconds), seed: Number(values.seed) };
  if (!(options.seconds > 0)) fail('--seconds must be a number above 0.');
  if (!Number.isSafeInteger(options.seed)) fail('--seed must be a whole number.');
  if (driver !== 'sql' && driver !== 'http') fail('--driver must be sql or http.');
  if (plants.some((name) => !plantNames.includes(name)))
    fail(`--plant must be one of ${plantNames.join(', ')}.`);
  const soak = name === 'soak' ? 60 : undefined;
  if (values.plan) {
    for (const { at, name: fault, holds } of planFaults({ ...options, driver, soak })) {
      const lasts = fault.startsWith('kill') ? '' : `, ${(holds / 1000).toFixed(1)} s`;
      print(`${(at / 1000).toFixed(1).padStart(7)} s  ${fault}${lasts}`);
    }
    process.exit(0);
  }
  // A signal ends the run, which removes everything that it started, except the journal.
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => stop.abort(new Error(`ended by ${signal}`)));
  const differences = await run({ ...options, driver, soak, plants, print, signal: stop.signal });
  if (stop.signal.aborted) process.exit(130);
  process.exit(differences.length > 0 ? 1 : 0);
}
