import { pause, type Random } from '../soak/clock.ts';

// biome-ignore lint/suspicious/noExplicitAny: what the API answers is looked at field by field
export type Answer = { status: number; body: any };

/** How each attempt went: its status, or `lost` where none came. */
export type Heard = (verb: string, outcome: string, detail: string) => void;

export type Api = { url: string; key: string; heard: Heard; random: Random };

/** What a call may be answered when things are killed, contended or overtaken. */
export const explained = /^(2\d\d|404|409|429|503|lost.*)$/;

/** Seconds in which whoever asks again and again is answered, whatever is broken meanwhile. */
export const patience = 120;

/**
 * One call, repeated while no answer comes or it is `not now`, as a client would: with its request id, or
 * the lease. Null when the patience is over: then nobody knows whether it was done.
 */
export async function call(
  api: Api,
  verb: string,
  path: string,
  {
    method = 'POST',
    body,
    patience: seconds = 60,
  }: { method?: string; body?: unknown; patience?: number },
): Promise<Answer | null> {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const answer = await once(api, verb, path, method, body);
    if (answer && answer.status !== 503 && answer.status !== 429) return answer;
    if (performance.now() > deadline) return null;
    await pause(50 + api.random(200));
  }
}

/** One attempt; null when no whole answer came. */
export async function once(
  { url, key, heard }: Api,
  verb: string,
  path: string,
  method: string,
  body: unknown,
): Promise<Answer | null> {
  try {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(10_000),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    // workerd itself answers 5xx in plain text when it or its proxy goes down: no answer of ours.
    const ours = response.headers.get('content-type')?.includes('json') ?? false;
    if (!ours) {
      const status = String(response.status);
      heard(
        verb,
        response.status >= 500 ? `lost, ${status} of workerd` : status,
        text.slice(0, 200),
      );
      return null;
    }
    heard(verb, String(response.status), text.slice(0, 300));
    return { status: response.status, body: JSON.parse(text) };
  } catch (error) {
    heard(verb, 'lost', String(error).slice(0, 100));
    return null;
  }
}
