import type { Problem } from '../client/errors.ts';
import { parseLossless } from '../client/lossless_json.ts';
import { type RouteInput, requestLine } from '../client/route.ts';
import type { Answer, Route } from '../client/wire.ts';
import { changing } from './changes.ts';

/** A refusal of the server, with its own message; status 0 if the server was not reached. */
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
  detail: 'The server cannot be reached.',
  hint: 'The page retries. Check that the Worker runs and that you are online.',
};
const unanswered = {
  detail: 'The server did not answer.',
  hint: 'The result of the call is unknown: check, and retry. Check that the Worker runs and that you are online.',
};

function toProblem(status: number, text: string): Problem {
  try {
    return JSON.parse(text);
  } catch {
    return { detail: `The server answered ${status}, in an unknown format.` };
  }
}

/** With a request id, a repeated call has no second effect. */
type RequestOptions = { signal?: AbortSignal | undefined; requestId?: string };

/** One request. Numbers in the answer keep all their digits. After a change the page loads its parts again. */
export function call<R extends Route>(
  key: string,
  route: R,
  input: RouteInput<R>,
  options: RequestOptions = {},
): Promise<Answer<R>> {
  const answer = request(key, route, input, options);
  return route.startsWith('GET ') ? answer : changing(answer);
}

async function request<R extends Route>(
  key: string,
  route: R,
  input: RouteInput<R>,
  { signal, requestId }: RequestOptions,
): Promise<Answer<R>> {
  const [method, path] = requestLine(route, input);
  const body: unknown = input.body;
  const text = typeof body === 'object' ? JSON.stringify(body) : (body as string | undefined);
  const headers = {
    authorization: `Bearer ${key}`,
    ...(text !== undefined && { 'content-type': 'application/json' }),
    ...(requestId && { 'idempotency-key': requestId }),
  };
  const init = { method, headers, signal: signal ?? null, body: text ?? null };
  let answer: Response;
  let answerText: string;
  try {
    // The page may be served below a path of another site.
    answer = await fetch(`.${path}`, init);
    answerText = await answer.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused(0, method === 'GET' ? unreached : unanswered);
  }
  if (!answer.ok) throw new Refused(answer.status, toProblem(answer.status, answerText));
  return parseLossless(answerText) as Answer<R>;
}
