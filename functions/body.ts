import type { Context } from 'hono';
import { findHazard } from './hazards.ts';
import { BODY_MS } from './patience.ts';
import { refusal } from './problem.ts';
import type { Grown } from './shed.ts';

/** The text goes to SQL as it came, so that no number passes through a double. */
export type Body = { text: string; json: object };

const MAX_BYTES = 5 * 1024 * 1024;
export const MAX_ITEMS = 10_000;

const tooLarge = () =>
  refusal(413, `A body is up to ${MAX_BYTES} bytes.`, {
    field: 'body',
    hint: 'Split it into several calls.',
  });

const tooSlow = () =>
  refusal(408, `The body was not there within ${BODY_MS / 1000} seconds.`, {
    field: 'body',
    hint: 'Send less in a call, or from nearer by.',
  });

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

/** All bytes of a body, which is read up to 5 MiB and for 30 seconds, and no further. */
async function bytesOf({ headers, body }: Request, grown: Grown): Promise<Uint8Array> {
  if (Number(headers.get('content-length')) > MAX_BYTES) throw tooLarge();
  if (!body) return new Uint8Array();
  const reader = body.getReader();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(tooSlow()), BODY_MS);
  });
  const read = () => reader.read().catch(() => Promise.reject(brokenOff()));
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await Promise.race([read(), late]);
      if (done) return joined(chunks, size);
      size += value.length;
      if (size > MAX_BYTES) throw tooLarge();
      grown(size);
      chunks.push(value);
    }
  } catch (error) {
    void reader.cancel().catch(() => {});
    throw error;
  } finally {
    clearTimeout(timer);
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
export async function readBody(c: Context, needed: boolean, grown: Grown): Promise<Body> {
  const text = decode(await bytesOf(c.req.raw, grown));
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
  const hazard = findHazard(text);
  if (hazard) throw refusal(422, `${hazard.field}: ${hazard.detail}`, { field: hazard.field });
  return { text, json };
}
