import { readFileSync } from 'node:fs';
import { childrenOf } from '../scripts/stack/processes.ts';
import type { TestDatabase } from './types.ts';

/** Sums of a process's mappings in MB; null if the process has ended. */
function rolledUp(pid: number): ((field: 'Pss' | 'Pss_Shmem' | 'Rss') => number) | null {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    return (field) => Number(new RegExp(`^${field}: +(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) / 1024;
  } catch {
    return null;
  }
}

/** Resident memory of one process. */
export const resident = (pid: number) => rolledUp(pid)?.('Rss') ?? 0;

/** The pid of the server of a database. */
export async function postmaster({ client }: TestDatabase): Promise<number> {
  const { rows } = await client.query('select pg_backend_pid() as pid');
  const status = readFileSync(`/proc/${rows[0].pid}/status`, 'utf8');
  return Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]);
}

/** The memory of a server and all its processes, with shared pages counted once; and the shared part of it. */
export function memoryOf(server: number): { all: number; shared: number } {
  const sum = { all: 0, shared: 0 };
  for (const pid of [server, ...childrenOf(server).map((child) => child.pid)]) {
    const of = rolledUp(pid);
    sum.all += of?.('Pss') ?? 0;
    sum.shared += of?.('Pss_Shmem') ?? 0;
  }
  return sum;
}

/**
 * Makes this session touch every shared buffer, so that all of them count from now on. It writes single rows, because a
 * scan of a large table uses only a few buffers.
 */
export async function touchBuffers({ client }: TestDatabase): Promise<void> {
  await client.query('create unlogged table public.touched (page text)');
  await client.query('alter table public.touched alter page set storage plain');
  await client.query(
    `insert into public.touched select repeat('x', 7000)
     from generate_series(1, (select setting::bigint * 11 / 10 from pg_settings where name = 'shared_buffers'))`,
  );
  await client.query('drop table public.touched');
}
