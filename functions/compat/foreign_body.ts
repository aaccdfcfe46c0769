import type { Context } from 'hono';
import { readText } from '../http/body.ts';
import { withBodySlots } from '../http/concurrency_limits.ts';
import type { Env } from '../http/endpoint.ts';
import type { CallTock } from './adapter.ts';
import { checkKey } from './calls.ts';

/** The text of a foreign request's body, with the limits of Tock's own: 5 MiB, and over 8 KiB only with a known key. */
export const readForeignText = (c: Context<Env>, tock: CallTock): Promise<string> =>
  withBodySlots('enqueues', c.env ?? {}, '', c.req.raw.signal, (onGrowth) =>
    readText(c, () => checkKey(tock), onGrowth),
  );
