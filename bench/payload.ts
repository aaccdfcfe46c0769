import { createHash } from 'node:crypto';

/** Text that no compression makes smaller, always the same. */
function noise(length: number): string {
  let text = '';
  for (let n = 0; text.length < length; n++) {
    text += createHash('sha512').update(`tock ${n}`).digest('base64url');
  }
  return text.slice(0, length);
}

/** A payload as JSON of just so many bytes, 80 at least. */
export function payload(bytes: number): string {
  // pgbench takes :12345 for a variable, so a space comes after every colon.
  const head = '{"user": 12345, "template": "welcome", "to": "someone@example.com", "body": "';
  return `${head}${noise(Math.max(0, bytes - head.length - 2))}"}`;
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/**
 * An SQL expression for `open item,item,… close`, so many items, and the line that a pgbench script needs
 * before it. Made of a parameter, or PostgreSQL would parse the JSON in it once and for all when it plans.
 * Copying takes it as long as a client's message would.
 */
export function listed(count: number, item: string, [open, close]: [string, string]) {
  return {
    set: `\\set more ${count - 1}`,
    text: `(${quoted(open)} || repeat(${quoted(`${item},`)}, :more) || ${quoted(item + close)})`,
  };
}
