import { exactly } from '../client/exact.ts';

type Problem = {
  title?: string;
  detail?: string;
  hint?: string;
  field?: string;
  errors?: { field: string; detail: string }[];
};

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

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
/** With a request id a repeated call is done once. */
export type Call = { signal?: AbortSignal; body?: unknown; requestId?: string };

/** One request; `body` is JSON text or what becomes it. Numbers in the answer are shown as they came. */
export async function call<T>(
  key: string,
  method: Method,
  path: string,
  { signal, body, requestId }: Call = {},
): Promise<T> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
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
  return exactly(said) as T;
}

/** Adds what is given of the query: ?queue=mail&state=dead */
export function withQuery(path: string, query: Record<string, string | number | undefined>) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text ? `${path}?${text}` : path;
}
