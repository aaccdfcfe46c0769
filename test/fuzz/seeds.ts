/** How many requests of each kind a seed makes. */
export const runs = Number(process.env.TOCK_FUZZ_RUNS ?? 60);

const { TOCK_FUZZ_SEED: given } = process.env;
const random = Number(given ?? Math.floor(Math.random() * 2 ** 31));

/** The same each time, and another one; that which failed alone, where it is given. */
export const seeds = given ? [random] : [8, random];

process.stdout.write(
  `To have the same requests again: TOCK_FUZZ_SEED=${random} TOCK_FUZZ_RUNS=${runs}\n`,
);
