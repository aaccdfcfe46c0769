import type { Answer } from '../client/wire.ts';

// Types used by several pages.

export type KeyInfo = Answer<'GET /v1/key'>;
export type Finding = Answer<'GET /v1/doctor'>['findings'][number];
type StoredTask = Answer<'GET /v1/tasks'>['tasks'][number];
/** A task in a list. The archive has neither its start nor a preview. */
export type Listed = Omit<StoredTask, 'started_at' | 'preview' | 'rerun'> &
  Partial<Pick<StoredTask, 'started_at' | 'preview' | 'rerun'>>;
export type Lease = Answer<'GET /v1/leases'>['leases'][number];
export type ConcurrencyKey =
  Answer<'GET /v1/queues/{queue}/concurrency-keys'>['concurrency_keys'][number];
export type WorkerActivity = Answer<'GET /v1/workers'>['workers'][number];
