import { truncate } from '../../client/worker/outcome.ts';

/** What of an answer is kept. */
export const MOST_BYTES = 65_536;
const DEEPEST = 64;
/** The database takes results of up to 262,144 bytes of JSON; the rest is for the status. */
const MOST_STORED = 261_000;
/** A number with an exponent is stored with all its digits. */
const MOST_DIGITS = 345;

/** `cut`: there was more. */
export type Answered = { status: number; body: unknown; cut?: true };

type Part = { text: string; cut: boolean };

/** Reads no further than what is kept. */
async function partOf(response: Response): Promise<Part> {
  if (!response.body) return { text: '', cut: false };
  const reader = response.body.getReader();
  const bytes = new Uint8Array(MOST_BYTES);
  let length = 0;
  while (true) {
    const { done, value } = await reader.read();
    if (done) return { text: new TextDecoder().decode(bytes.subarray(0, length)), cut: false };
    const some = value.subarray(0, MOST_BYTES - length);
    bytes.set(some, length);
    length += some.length;
    if (some.length < value.length) {
      void reader.cancel().catch(() => {});
      return { text: new TextDecoder().decode(bytes.subarray(0, length)), cut: true };
    }
  }
}

/** Throws for what lies too deep. */
function storable(value: unknown, depth = 0): unknown {
  if (depth > DEEPEST) throw new RangeError('too deep');
  if (typeof value === 'string') return truncate(value, value.length);
  if (Array.isArray(value)) return value.map((one) => storable(one, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      truncate(name, name.length),
      storable(one, depth + 1),
    ]),
  );
}

const bytesOf = (text: string) => new TextEncoder().encode(text).length;

/** No less than it takes in the database, which writes a space after each comma and colon. */
function storedBytes(value: unknown): number {
  const json = JSON.stringify(value);
  const count = (what: RegExp) => json.match(what)?.length ?? 0;
  return bytesOf(json) + count(/[,:]/g) + MOST_DIGITS * count(/\de[+-]\d/g);
}

/** Undefined for what is no JSON, or can't be stored as such. */
function jsonOf(type: string, { text, cut }: Part): unknown {
  if (cut || !/^application\/([\w.+-]+\+)?json\b/i.test(type)) return undefined;
  try {
    const value = storable(JSON.parse(text));
    return storedBytes(value) <= MOST_STORED ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A control character takes six bytes as JSON. */
function textOf({ text, cut }: Part): Part {
  const kept = truncate(text, text.length);
  if (bytesOf(JSON.stringify(kept)) <= MOST_STORED) return { text: kept, cut };
  return textOf({ text: kept.slice(0, kept.length / 2), cut: true });
}

/**
 * An answer as a result: JSON where it says that it is, else text, without what can't be stored. It always can be:
 * a task that was delivered must not be sent again for what its endpoint said.
 */
export async function answered(response: Response): Promise<Answered> {
  const part = await partOf(response);
  const { status } = response;
  if (part.text === '') return { status, body: null };
  const json = jsonOf(response.headers.get('content-type') ?? '', part);
  if (json !== undefined) return { status, body: json };
  const { text, cut } = textOf(part);
  return { status, body: text, ...(cut && { cut }) };
}

/** Seconds that an answer asks to wait, at least 0: a number of them, or an HTTP date. */
export function retryAfter({ headers }: Response): number | null {
  const said = headers.get('retry-after')?.trim() ?? '';
  const date = /^[A-Z][a-z]{2,8},? /.test(said)
    ? (Date.parse(said) - Date.now()) / 1000
    : Number.NaN;
  const seconds = /^\d{1,15}$/.test(said) ? Number(said) : Math.ceil(date);
  return Number.isFinite(seconds) ? Math.max(0, seconds) : null;
}
