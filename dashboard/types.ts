import type { Answer } from '../client/wire.ts';

// Types used by several pages.

export type KeyInfo = Answer<'GET /v1/key'>;
export type Finding = Answer<'GET /v1/doctor'>['findings'][number];
export type Listed = Answer<'GET /v1/tasks' | 'GET /v1/archive/tasks'>['tasks'][number];
export type Lease = Answer<'GET /v1/leases'>['leases'][number];
export type ConcurrencyKey =
  Answer<'GET /v1/queues/{queue}/concurrency-keys'>['concurrency_keys'][number];
