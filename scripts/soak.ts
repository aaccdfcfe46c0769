import { parseArgs } from 'node:util';
import { soak } from './soak/run.ts';

const usage = `Usage: npm run soak -- [--minutes <n>] [--seed <n>] [--round <seconds>]
  --minutes <n>     how long work and faults go on (3); draining and accounting come after
  --seed <n>        of what is chosen at random (1)
  --round <seconds> each kind of fault, and the end of an epoch, come once in it (60)`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
    round: { type: 'string', default: '60' },
    help: { type: 'boolean', short: 'h' },
  },
});
if (values.help) {
  process.stdout.write(`${usage}\n`);
  process.exit(0);
}
const differences = await soak({
  minutes: Number(values.minutes),
  seed: Number(values.seed),
  roundSeconds: Number(values.round),
  say: (line) => process.stdout.write(`${line}\n`),
});
process.exit(differences.length > 0 ? 1 : 0);
