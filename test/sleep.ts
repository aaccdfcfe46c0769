/**
 * A moment without a meaning, in milliseconds: between the steps of a load, so that its parts meet in another way in each
 * run, and between two looks at a condition. No test depends on how long it is.
 */
export const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
