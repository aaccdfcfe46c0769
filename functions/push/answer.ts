import { clean } from '../../client/worker/outcome.ts';

/** What of an answer is kept. */
export const MOST_BYTES = 65_536;
const DEEPEST = 64;

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
  if (typeof value === 'string') return clean(value, value.length);
  if (Array.isArray(value)) return value.map((one) => storable(one, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [
      clean(name, name.length),
      storable(one, depth + 1),
    ]),
  );
}

function bodyOf(type: string, { text, cut }: Part): unknown {
  if (text === '') return null;
  if (/^application\/([\w.+-]+\+)?json\b/i.test(type) && !cut) {
    try {
      return storable(JSON.parse(text));
    } catch {}
  }
  return clean(text, text.length);
}

/** An answer as a result: JSON where it says that it is, else text, without what can't be stored. */
export async function answered(response: Response): Promise<Answered> {
  const part = await partOf(response);
  const body = bodyOf(response.headers.get('content-type') ?? '', part);
  return { status: response.status, body, ...(part.cut && { cut: true }) };
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
