import type { Problem } from '../client/errors.ts';
import { parseLossless } from '../client/lossless_json.ts';
import { type RouteInput, requestLine } from '../client/route.ts';
import type { Answer, Route } from '../client/wire.ts';

/** What the server refused, with its own words; status 0 when it wasn't reached. */
export class Refused extends Error {
  readonly status: number;
  readonly problem: Problem;

  constructor(status: number, problem: Problem) {
    super(problem.detail ?? problem.title ?? `The server answered ${status}.`);
    this.status = status;
    this.problem = problem;
  }
}

const unreached = {
  detail: 'The server is out of reach.',
  hint: 'It is tried again by itself. See that the Worker runs and that you are online.',
};
const unanswered = {
  detail: 'The server did not answer.',
  hint: 'Whether it was done is not known: look, and try again. See that the Worker runs and that you are online.',
};

function problemOf(status: number, text: string): Problem {
  try {
    return JSON.parse(text);
  } catch {
    return { detail: `The server answered ${status}, and not as Tock does.` };
  }
}

/** With a request id a repeated call is done once. */
type More = { signal?: AbortSignal | undefined; requestId?: string };

/** One request. Numbers in the answer are shown as they came. */
export async function call<R extends Route>(
  key: string,
  route: R,
  given: RouteInput<R>,
  { signal, requestId }: More = {},
): Promise<Answer<R>> {
  const [method, path] = requestLine(route, given);
  const body: unknown = given.body;
  const text = typeof body === 'object' ? JSON.stringify(body) : (body as string | undefined);
  const headers = {
    authorization: `Bearer ${key}`,
    ...(text !== undefined && { 'content-type': 'application/json' }),
    ...(requestId && { 'idempotency-key': requestId }),
  };
  const init = { method, headers, signal: signal ?? null, body: text ?? null };
  let answer: Response;
  let said: string;
  try {
    // The page may lie below a path of another site.
    answer = await fetch(`.${path}`, init);
    said = await answer.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused(0, method === 'GET' ? unreached : unanswered);
  }
  if (!answer.ok) throw new Refused(answer.status, problemOf(answer.status, said));
  return parseLossless(said) as Answer<R>;
}
