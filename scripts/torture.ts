import { parseArgs } from 'node:util';
import { planned } from './torture/plan.ts';
import { torture } from './torture/run.ts';

const usage = `Usage: npm run torture -- [--seconds <n>] [--seed <n>] [--plan]
  --seconds <n>  how long work and faults go on (120); draining and accounting come after
  --seed <n>     of the faults, their times, and what each client chooses (1)
  --plan         only says which fault comes when`;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    seed: { type: 'string', default: '1' },
    plan: { type: 'boolean' },
    help: { type: 'boolean', short: 'h' },
  },
});
const [seconds, seed] = [Number(values.seconds), Number(values.seed)];
const say = (line: string) => process.stdout.write(`${line}\n`);
if (values.help || !(seconds >= 1 && seconds <= 86_400) || !Number.isSafeInteger(seed)) {
  say(usage);
  process.exit(values.help ? 0 : 2);
}
if (values.plan) {
  for (const { at, kind } of planned(seconds, seed))
    say(`${(at / 1000).toFixed(1).padStart(7)} s  ${kind}`);
  process.exit(0);
}
process.exit((await torture({ seconds, seed, say })).length > 0 ? 1 : 0);
