import type { Context } from 'hono';
import { readBytes, readText } from '../http/body.ts';
import { type OnGrowth, withBodySlots } from '../http/concurrency_limits.ts';
import type { Env } from '../http/endpoint.ts';
import type { CallTock } from './adapter.ts';
import { checkKey } from './calls.ts';

const inSlots = <T>(c: Context<Env>, read: (onGrowth: OnGrowth) => Promise<T>): Promise<T> =>
  withBodySlots('enqueues', c.env ?? {}, '', c.req.raw.signal, read);

/** The text of a foreign request's body, with the limits of Tock's own: 5 MiB, and over 8 KiB only with a known key. */
export const readForeignText = (c: Context<Env>, tock: CallTock): Promise<string> =>
  inSlots(c, (onGrowth) => readText(c, () => checkKey(tock), onGrowth));

/** The same for a body of any bytes. */
export const readForeignBytes = (c: Context<Env>, tock: CallTock): Promise<Uint8Array> =>
  inSlots(c, (onGrowth) => readBytes(c.req.raw, () => checkKey(tock), onGrowth));
