import { parseArgs } from 'node:util';
import { planFaults } from './torture/plan.ts';
import { torture } from './torture/run.ts';

const usage = `Usage: npm run torture -- [--seconds <n>] [--seed <n>] [--plan]
  --seconds <n>  how long work and faults go on (60); draining and accounting come after
  --seed <n>     of what is chosen at random (1): each client's decisions and all faults are the same again,
                 not who comes first
  --plan         show the faults and their times, and do nothing`;

const say = (line: string) => void process.stdout.write(`${line}\n`);

function asked() {
  try {
    return parseArgs({
      options: {
        seconds: { type: 'string', default: '60' },
        seed: { type: 'string', default: '1' },
        plan: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    say(`${(error as Error).message}\n${usage}`);
    process.exit(2);
  }
}

const values = asked();
const [seconds, seed] = [Number(values.seconds), Number(values.seed)];
if (values.help || !(seconds > 0) || !Number.isSafeInteger(seed)) {
  say(usage);
  process.exit(values.help ? 0 : 2);
}
if (values.plan) {
  for (const { at, name, holds } of planFaults(seed, seconds)) {
    say(
      `${(at / 1000).toFixed(1).padStart(7)} s  ${name}${/^kill/.test(name) ? '' : `, ${(holds / 1000).toFixed(1)} s`}`,
    );
  }
  process.exit(0);
}
// All that was started is taken away; the journal stays.
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => stop.abort(new Error(`ended by ${signal}`)));
const differences = await torture({ seconds, seed, say, signal: stop.signal });
if (stop.signal.aborted) process.exit(130);
process.exit(differences.length > 0 ? 1 : 0);
