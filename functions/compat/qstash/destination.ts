import type { Bindings } from '../../env.ts';
import { refusal } from '../../http/problem.ts';
import { url as urlSchema } from '../../http/schemas.ts';
import { refusalReason } from '../../push/guard.ts';

/** Refuses a URL that Tock would not send to. */
export function checkUrl(field: string, url: string, env: Bindings): void {
  const reason =
    refusalReason(url, env) ?? urlSchema.safeParse(url).error?.issues[0]?.message ?? null;
  if (reason) throw refusal(400, `${field}: ${reason}`);
}

export type Destination = { url: string } | { group: string };

/** A destination is a URL, as it stands in the path or encoded, or the name of a URL group. */
export function destinationOf(text: string, env: Bindings): Destination {
  let decoded = text;
  try {
    if (/^https?%3a/i.test(text)) decoded = decodeURIComponent(text);
  } catch {
    throw refusal(400, 'destination: not a URL');
  }
  if (/^https?:/i.test(decoded)) {
    // Some proxies make one slash of two.
    const url = decoded.replace(/^(https?):\/+/i, '$1://');
    checkUrl('destination', url, env);
    return { url };
  }
  if (/^api\//.test(decoded))
    throw refusal(400, `Tock does not serve the destination ${decoded.slice(0, 100)}.`);
  return { group: decoded };
}
