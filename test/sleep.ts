/**
 * A pause between the steps of a load, so that they interleave differently in each run, or between two checks of a
 * condition. No test may depend on its length.
 */
export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
