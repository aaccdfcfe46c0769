import type { Answer } from '../client/wire.ts';

// Types used by several pages.

export type KeyInfo = Answer<'GET /v1/key'>;
export type Finding = Answer<'GET /v1/doctor'>['findings'][number];
type StoredTask = Answer<'GET /v1/tasks'>['tasks'][number];
type OnlyStored =
  | 'started_at'
  | 'preview'
  | 'rerun'
  | 'cancel_requested'
  | 'waiting_for'
  | 'concurrency_key';
/** A task in a list. The archive lacks some fields. */
export type Listed = Omit<StoredTask, OnlyStored> & Partial<Pick<StoredTask, OnlyStored>>;
export type Lease = Answer<'GET /v1/leases'>['leases'][number];
export type ConcurrencyKey =
  Answer<'GET /v1/queues/{queue}/concurrency-keys'>['concurrency_keys'][number];
export type WorkerActivity = Answer<'GET /v1/workers'>['workers'][number];
