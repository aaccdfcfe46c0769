import type { Context } from 'hono';
import { BODY_MS, BODY_STALL_MS } from '../timeouts.ts';
import type { Grown } from './concurrency_limits.ts';
import { refusal } from './problem.ts';
import { findUnsafeJson } from './unsafe_json.ts';

/** The text goes to SQL as it came, so that no number passes through a double. */
export type Body = { text: string; json: object };

const MAX_BYTES = 5 * 1024 * 1024;
/** A larger body is read when its key is known. */
const UNKNOWN_BYTES = 8 * 1024;
/** In each BODY_STALL_MS: 1 kB a second. */
const LEAST_BYTES = 5 * 1024;
export const MAX_ITEMS = 10_000;

const tooLarge = () =>
  refusal(413, `A body is up to ${MAX_BYTES} bytes.`, {
    field: 'body',
    hint: 'Split it into several calls.',
  });

const tooSlow = (detail: string) =>
  refusal(408, detail, { field: 'body', hint: 'Send less in a call, or from nearer by.' });

const brokenOff = () => refusal(400, 'The body broke off.', { field: 'body' });

function joined(chunks: Uint8Array[], size: number): Uint8Array {
  const [first] = chunks;
  if (chunks.length === 1 && first) return first;
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}

/** Refuses a key that is not known. */
export type Known = () => Promise<void>;

/** Rejects when a body was not there in time, or came too slowly; `size` is how much of it is there. */
function watched(size: () => number) {
  let timer: ReturnType<typeof setInterval> | undefined;
  const end = performance.now() + BODY_MS;
  let before = 0;
  // Two halves in a row: where the process itself stood still, a timer comes before what was sent meanwhile.
  let slow = 0;
  const late = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      const came = size() - before;
      before += came;
      slow = came < LEAST_BYTES / 2 ? slow + 1 : 0;
      if (performance.now() >= end) {
        reject(tooSlow(`The body was not there within ${BODY_MS / 1000} seconds.`));
      } else if (slow === 2) {
        const stall = `less than ${LEAST_BYTES} bytes of it came in ${BODY_STALL_MS / 1000} seconds`;
        reject(tooSlow(`The body came too slowly: ${stall}.`));
      }
    }, BODY_STALL_MS / 2);
  });
  late.catch(() => {});
  return { late, stop: () => clearInterval(timer) };
}

/** All bytes of a body, which is read up to 5 MiB and for 30 seconds, and no further; over 8 KiB of a known key only. */
async function bytesOf(
  { headers, body }: Request,
  known: Known,
  grown: Grown,
): Promise<Uint8Array> {
  const length = Number(headers.get('content-length'));
  if (length > MAX_BYTES) throw tooLarge();
  if (!body) return new Uint8Array();
  let asked = length > UNKNOWN_BYTES;
  if (asked) await known();
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  let watch = watched(() => size);
  const read = () => reader.read().catch(() => Promise.reject(brokenOff()));
  try {
    for (;;) {
      const { done, value } = await Promise.race([read(), watch.late]);
      if (done) return joined(chunks, size);
      size += value.length;
      if (size > MAX_BYTES) throw tooLarge();
      if (!asked && size > UNKNOWN_BYTES) {
        asked = true;
        // The database's time is not the sender's.
        watch.stop();
        await known();
        watch = watched(() => size);
      }
      grown(size);
      chunks.push(value);
    }
  } catch (error) {
    void reader.cancel().catch(() => {});
    throw error;
  } finally {
    watch.stop();
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw refusal(400, 'The body is not UTF-8.', { field: 'body' });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw refusal(400, 'The body is not JSON.', { field: 'body' });
  }
}

// Before validation, which would describe each of a million wrong items.
function refuseMany(json: object): void {
  for (const [field, value] of Object.entries(json)) {
    if (Array.isArray(value) && value.length > MAX_ITEMS) {
      throw refusal(422, `${field}: up to ${MAX_ITEMS} items a call`, {
        field,
        hint: 'Split it into several calls.',
      });
    }
  }
}

/** The body of a request; none at all is an empty object, where that will do. */
export async function readBody(
  c: Context,
  needed: boolean,
  known: Known,
  grown: Grown,
): Promise<Body> {
  const text = decode(await bytesOf(c.req.raw, known, grown));
  if (text.trim() === '') {
    if (needed) throw refusal(400, 'There is no body.', { field: 'body' });
    return { text: '{}', json: {} };
  }
  const type = c.req.header('content-type');
  if (type && !/^application\/([\w.-]+\+)?json *(;|$)/i.test(type)) {
    throw refusal(415, 'The body has to be JSON.', {
      field: 'Content-Type',
      hint: 'Send Content-Type: application/json.',
    });
  }
  const json = parse(text);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw refusal(422, 'The body has to be a JSON object.', { field: 'body' });
  }
  refuseMany(json);
  const unsafe = findUnsafeJson(text);
  if (unsafe) throw refusal(422, `${unsafe.field}: ${unsafe.detail}`, { field: unsafe.field });
  return { text, json };
}
