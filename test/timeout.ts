/**
 * How many milliseconds a test waits for a condition before it fails. A quiet machine needs a second; a busy one may
 * need a hundred times as long. TOCK_TEST_PATIENCE sets the wait in seconds.
 */
export const conditionTimeout = 1000 * Number(process.env.TOCK_TEST_PATIENCE ?? 120);
