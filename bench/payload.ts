import { createHash } from 'node:crypto';

/** Incompressible text, always the same. */
function noise(length: number): string {
  let text = '';
  for (let n = 0; text.length < length; n++) {
    text += createHash('sha512').update(`tock ${n}`).digest('base64url');
  }
  return text.slice(0, length);
}

/** A payload as JSON of exactly this many bytes, at least 80. */
export function payload(bytes: number): string {
  // pgbench reads :12345 as a variable, so each colon is followed by a space.
  const head = '{"user": 12345, "template": "welcome", "to": "someone@example.com", "body": "';
  return `${head}${noise(Math.max(0, bytes - head.length - 2))}"}`;
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/**
 * An SQL expression for `open item,item,… close` with this many items, and the line that a pgbench script needs before
 * it. It uses a parameter, because PostgreSQL would parse a constant's JSON once at planning. Copying it takes as long
 * as a client's message would.
 */
export function listed(count: number, item: string, [open, close]: [string, string]) {
  return {
    set: `\\set more ${count - 1}`,
    text: `(${quoted(open)} || repeat(${quoted(`${item},`)}, :more) || ${quoted(item + close)})`,
  };
}
