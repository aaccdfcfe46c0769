/**
 * How many milliseconds a test waits for what must come, before it fails. It comes within a second on a quiet machine; on
 * one where eight others compute, a hundredth of the time is ours. TOCK_TEST_PATIENCE says it in seconds.
 */
export const conditionTimeout = 1000 * Number(process.env.TOCK_TEST_PATIENCE ?? 120);
