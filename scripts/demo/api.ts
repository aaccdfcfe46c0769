export type Answer = { status: number; body: Record<string, unknown> };

/** Calls Tock over HTTP. It repeats calls, so each must be safe to repeat. */
export type Api = (path: string, body?: object, method?: 'POST' | 'PUT') => Promise<Answer>;

/** Creates an Api that repeats a call without an answer, or with status 429 or 5xx, for half a minute. */
export function api(url: string, key: string): Api {
  return async (path, body, method = 'POST') => {
    const deadline = performance.now() + 30_000;
    for (let tries = 1; ; tries++) {
      let last = '';
      try {
        const response = await fetch(`${url}${path}`, {
          ...(body && { method, body: JSON.stringify(body) }),
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          signal: AbortSignal.timeout(15_000),
        });
        const text = await response.text();
        const { status } = response;
        if (status < 500 && status !== 429) return { status, body: text ? JSON.parse(text) : {} };
        last = `${status} ${text}`;
      } catch (error) {
        last = error instanceof Error ? `${error.message} ${error.cause ?? ''}` : String(error);
      }
      if (performance.now() > deadline) {
        throw new Error(`${url}${path} does not answer: ${last.trim()}\nSee .tock/worker.log.`);
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(tries * 100, 1000)));
    }
  };
}

/** Returns the body of a 2xx answer; throws an error with the answer otherwise. */
export async function expectOk<T>(answer: Promise<Answer>): Promise<T> {
  const { status, body } = await answer;
  if (status >= 200 && status < 300) return body as T;
  throw new Error(`Tock answered ${status}: ${JSON.stringify(body)}`);
}
