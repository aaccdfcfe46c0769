import type { Context } from 'hono';
import { BODY_MS, BODY_STALL_MS } from '../timeouts.ts';
import type { OnGrowth } from './concurrency_limits.ts';
import { refusal } from './problem.ts';
import { findUnsafeJson } from './unsafe_json.ts';

/** `text` is the original body. SQL gets it, so that no number passes through a double. */
export type Body = { text: string; json: object };

export const MAX_BYTES = 5 * 1024 * 1024;
/** Of a larger body, the rest is read only after its key is known. */
const UNKNOWN_BYTES = 8 * 1024;
/** Each BODY_STALL_MS must bring this many bytes: 1 kB a second. */
const MIN_BYTES = 5 * 1024;
export const MAX_ITEMS = 10_000;

const tooLarge = () =>
  refusal(413, `The body is larger than ${MAX_BYTES / 1024 / 1024} MiB.`, {
    field: 'body',
    hint: 'Split it into several calls.',
  });

const tooSlow = (detail: string) =>
  refusal(408, detail, {
    field: 'body',
    hint: 'Send fewer tasks in a call, or use a faster connection.',
  });

const interrupted = () => refusal(400, 'The body ended early.', { field: 'body' });

function concatenate(chunks: Uint8Array[], size: number): Uint8Array {
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

/** Throws if the key is unknown. */
export type CheckKey = () => Promise<void>;

/** Rejects when a body is late or too slow; `size` returns the number of bytes received. */
function watchProgress(size: () => number) {
  let timer: ReturnType<typeof setInterval> | undefined;
  const deadline = performance.now() + BODY_MS;
  let previous = 0;
  // One slow half is no stall: after this process itself was blocked, the timer fires before the pending data is read.
  let slowHalves = 0;
  const timeout = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      const received = size() - previous;
      previous += received;
      slowHalves = received < MIN_BYTES / 2 ? slowHalves + 1 : 0;
      if (performance.now() >= deadline) {
        reject(tooSlow(`The body did not arrive within ${BODY_MS / 1000} seconds.`));
      } else if (slowHalves === 2) {
        const stall = `less than ${MIN_BYTES / 1024} KiB arrived in ${BODY_STALL_MS / 1000} seconds`;
        reject(tooSlow(`The body arrived too slowly: ${stall}.`));
      }
    }, BODY_STALL_MS / 2);
  });
  timeout.catch(() => {});
  return { late: timeout, stop: () => clearInterval(timer) };
}

/** Reads a body of up to 5 MiB within 30 seconds; more than 8 KiB only with a known key. */
export async function readBytes(
  { headers, body }: Request,
  checkKey: CheckKey,
  onGrowth: OnGrowth,
): Promise<Uint8Array> {
  const length = Number(headers.get('content-length'));
  if (length > MAX_BYTES) throw tooLarge();
  if (!body) return new Uint8Array();
  let isChecked = length > UNKNOWN_BYTES;
  if (isChecked) await checkKey();
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  let watch = watchProgress(() => size);
  const read = () => reader.read().catch(() => Promise.reject(interrupted()));
  try {
    for (;;) {
      const { done, value } = await Promise.race([read(), watch.late]);
      if (done) return concatenate(chunks, size);
      size += value.length;
      if (size > MAX_BYTES) throw tooLarge();
      if (!isChecked && size > UNKNOWN_BYTES) {
        isChecked = true;
        // The sender is not slow while this Worker checks the key.
        watch.stop();
        await checkKey();
        watch = watchProgress(() => size);
      }
      onGrowth(size);
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

// This check comes before validation, which would report each of a million invalid items.
function refuseMany(json: object): void {
  for (const [field, value] of Object.entries(json)) {
    if (Array.isArray(value) && value.length > MAX_ITEMS) {
      throw refusal(422, `${field}: up to ${MAX_ITEMS.toLocaleString('en')} items a call`, {
        field,
        hint: 'Split it into several calls.',
      });
    }
  }
}

/** The text of a body, in UTF-8. */
export async function readText(
  c: Context,
  checkKey: CheckKey,
  onGrowth: OnGrowth,
): Promise<string> {
  return decode(await readBytes(c.req.raw, checkKey, onGrowth));
}

/** The object in a body; refuses other JSON, and what PostgreSQL cannot store. */
export function parseObject(text: string): object {
  const json = parse(text);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw refusal(422, 'The body must be a JSON object.', {
      field: 'body',
      hint: 'Send a JSON object; GET /openapi.json describes the route.',
    });
  }
  refuseMany(json);
  const unsafe = findUnsafeJson(text);
  if (unsafe) throw refusal(422, `${unsafe.field}: ${unsafe.detail}`, { field: unsafe.field });
  return json;
}

/** The body of a request. An empty one is an empty object, unless the route requires a body. */
export async function readBody(
  c: Context,
  needed: boolean,
  checkKey: CheckKey,
  onGrowth: OnGrowth,
): Promise<Body> {
  const text = await readText(c, checkKey, onGrowth);
  if (text.trim() === '') {
    if (needed) throw refusal(400, 'The request has no body.', { field: 'body' });
    return { text: '{}', json: {} };
  }
  const type = c.req.header('content-type');
  if (type && !/^application\/([\w.-]+\+)?json *(;|$)/i.test(type)) {
    throw refusal(415, 'The body must be JSON.', {
      field: 'Content-Type',
      hint: 'Send Content-Type: application/json.',
    });
  }
  return { text, json: parseObject(text) };
}
