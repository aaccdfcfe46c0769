import type { Context } from 'hono';
import { refusal } from './problem.ts';

/** Refuses a repeated parameter, because no parameter is a list. */
export function readQuery(c: Context): Record<string, string> {
  for (const [field, values] of Object.entries(c.req.queries())) {
    if (values.length > 1)
      throw refusal(422, `${field}: given ${values.length} times; give it once`, { field });
    if (values[0]?.includes('\0')) throw refusal(422, `${field}: must not contain NUL`, { field });
  }
  return c.req.query();
}

/** Refuses NUL and invalid UTF-8, which Hono passes on. */
export function readParams(c: Context): Record<string, string> {
  const params: Record<string, string> = c.req.param();
  for (const [field, value] of Object.entries(params)) {
    if (value.includes('\0')) throw refusal(422, `${field}: must not contain NUL`, { field });
  }
  const segments = c.req.path.split('/');
  for (const [index, name] of c.req.routePath.split('/').entries()) {
    const field = name.startsWith(':') ? name.slice(1) : null;
    if (field && !isUtf8(segments[index] ?? ''))
      throw refusal(422, `${field}: must be UTF-8`, { field });
  }
  return params;
}

function isUtf8(encoded: string): boolean {
  try {
    decodeURIComponent(encoded);
    return true;
  } catch {
    return false;
  }
}
