import type { Context, MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { HTTPException } from 'hono/http-exception';
import { findHazard } from './hazards.ts';
import { refusal } from './problem.ts';

/** The text goes to SQL as it came, so that no number passes through a double. */
export type Body = { text: string; json: object };

const MAX_BYTES = 5 * 1024 * 1024;
const BODY_MS = 60_000;
export const MAX_ITEMS = 10_000;

/** Who sends a byte now and then would hold a request for as long as they like. */
async function inTime<T>(reading: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const detail = `The body did not come within ${BODY_MS / 1000} s.`;
      reject(
        refusal(408, detail, { field: 'body', hint: 'Send it at once, or in smaller calls.' }),
      );
    }, BODY_MS);
  });
  return Promise.race([reading.catch(broken), late]).finally(() => clearTimeout(timer));
}

/** A client that goes, or chunks that are none, end it with an error of the runtime's. */
function broken(error: unknown): never {
  if (error instanceof HTTPException) throw error;
  throw refusal(400, 'The body broke off.', { field: 'body' });
}

const small = bodyLimit({
  maxSize: MAX_BYTES,
  onError: () => {
    throw refusal(413, `A body is up to ${MAX_BYTES} bytes.`, {
      field: 'body',
      hint: 'Split it into several calls.',
    });
  },
});

/** Refuses bodies over 5 MiB, without reading them to their end. One that doesn't say its length is read here. */
export const limitBody: MiddlewareHandler = async (c, next) => {
  if (c.req.raw.body) await inTime(Promise.resolve(small(c, async () => {})));
  await next();
};

function decode(bytes: ArrayBuffer): string {
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
export async function readBody(c: Context, needed = false): Promise<Body> {
  const text = decode(await inTime(c.req.arrayBuffer()));
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
