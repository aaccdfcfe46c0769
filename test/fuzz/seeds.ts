/** How many requests of each kind a seed makes. */
export const runs = Number(process.env.TOCK_FUZZ_RUNS ?? 60);

const given = process.env.TOCK_FUZZ_SEED;
const random = given === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(given);

/** The same each time, so that a change is judged by what it changes; by TOCK_FUZZ_SEED one's own, or a random one. */
export const seeds = given ? [random] : [8, 1438840172];

if (given === 'random')
  process.stdout.write(
    `To have the same requests again: TOCK_FUZZ_SEED=${random} TOCK_FUZZ_RUNS=${runs}\n`,
  );
