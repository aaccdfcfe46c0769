import { truncate } from '../../client/worker/outcome.ts';

/** The size of an answer's part that is kept. */
export const MAX_BYTES = 65_536;
const MAX_DEPTH = 64;
/** The database accepts results of up to 262,144 bytes of JSON. The difference is for the status. */
const MAX_STORED = 261_000;
/** The database stores a number with an exponent with all its digits, up to this many. */
const MAX_DIGITS = 345;

/** `cut`: the answer was longer. */
export type PushResult = { status: number; body: unknown; cut?: true };

type Part = { text: string; cut: boolean };

/** Reads only the part of an answer that is kept. */
async function readStart(response: Response): Promise<Part> {
  if (!response.body) return { text: '', cut: false };
  const reader = response.body.getReader();
  const bytes = new Uint8Array(MAX_BYTES);
  let length = 0;
  while (true) {
    const { done, value } = await reader.read();
    if (done) return { text: new TextDecoder().decode(bytes.subarray(0, length)), cut: false };
    const chunk = value.subarray(0, MAX_BYTES - length);
    bytes.set(chunk, length);
    length += chunk.length;
    if (chunk.length < value.length) {
      void reader.cancel().catch(() => {});
      return { text: new TextDecoder().decode(bytes.subarray(0, length)), cut: true };
    }
  }
}

/** Throws if the value is nested too deep. */
function storable(value: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) throw new RangeError('too deep');
  if (typeof value === 'string') return truncate(value, value.length);
  if (Array.isArray(value)) return value.map((item) => storable(item, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [
      truncate(name, name.length),
      storable(item, depth + 1),
    ]),
  );
}

const bytesOf = (text: string) => new TextEncoder().encode(text).length;

/** An upper bound of the stored size: the database writes a space after each comma and colon. */
function storedBytes(value: unknown): number {
  const json = JSON.stringify(value);
  const count = (what: RegExp) => json.match(what)?.length ?? 0;
  return bytesOf(json) + count(/[,:]/g) + MAX_DIGITS * count(/\de[+-]\d/g);
}

/** Undefined if the answer is not JSON, or cannot be stored. */
function parseJson(type: string, { text, cut }: Part): unknown {
  if (cut || !/^application\/([\w.+-]+\+)?json\b/i.test(type)) return undefined;
  try {
    const value = storable(JSON.parse(text));
    return storedBytes(value) <= MAX_STORED ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Shortens a text until it fits as JSON, where a control character takes six bytes. */
function storableText({ text, cut }: Part): Part {
  const kept = truncate(text, text.length);
  if (bytesOf(JSON.stringify(kept)) <= MAX_STORED) return { text: kept, cut };
  return storableText({ text: kept.slice(0, kept.length / 2), cut: true });
}

/**
 * Converts an answer to a result: JSON if its content type says so, else text, without characters that cannot be
 * stored. Any answer gives a result: a delivered task must not be sent again because of its answer.
 */
export async function toResult(response: Response): Promise<PushResult> {
  const part = await readStart(response);
  const { status } = response;
  if (part.text === '') return { status, body: null };
  const json = parseJson(response.headers.get('content-type') ?? '', part);
  if (json !== undefined) return { status, body: json };
  const { text, cut } = storableText(part);
  return { status, body: text, ...(cut && { cut }) };
}

/** Seconds from Retry-After, at least 0: a number or an HTTP date. */
export function retryAfter({ headers }: Response): number | null {
  const value = headers.get('retry-after')?.trim() ?? '';
  const date = /^[A-Z][a-z]{2,8},? /.test(value)
    ? (Date.parse(value) - Date.now()) / 1000
    : Number.NaN;
  const seconds = /^\d{1,15}$/.test(value) ? Number(value) : Math.ceil(date);
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}
