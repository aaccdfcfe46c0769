/** Number of requests of each kind for one seed. */
export const runs = Number(process.env.TOCK_FUZZ_RUNS ?? 60);

const seedText = process.env.TOCK_FUZZ_SEED;
const random = seedText === 'random' ? Math.floor(Math.random() * 2 ** 31) : Number(seedText);

/** The seeds are fixed, so that a failure is due to a change. TOCK_FUZZ_SEED sets another seed, or `random`. */
export const seeds = seedText ? [random] : [8, 1438840172];

if (seedText === 'random')
  process.stdout.write(
    `To repeat these requests: TOCK_FUZZ_SEED=${random} TOCK_FUZZ_RUNS=${runs}\n`,
  );
