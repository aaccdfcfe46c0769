import { vi } from 'vitest';
import { conditionTimeout } from './timeout.ts';

// While a test opens a hundred connections at once, the postmaster of a busy machine forks for other tests' connections
// only seconds later. The Worker's own limit is 5 s; test/drivers/timeouts.test.ts has the limits.
const patient = { CONNECT_MS: conditionTimeout, HEALTH_MS: conditionTimeout };
vi.mock('../functions/timeouts.ts', async (original) => ({
  ...(await original<object>()),
  ...patient,
}));
vi.mock('../migrate/timeouts.ts', async (original) => ({
  ...(await original<object>()),
  ...patient,
}));
