import { createHash } from 'node:crypto';

/** Text that does not compress. It is the same in each run. */
function noise(length: number): string {
  let text = '';
  for (let n = 0; text.length < length; n++) {
    text += createHash('sha512').update(`tock ${n}`).digest('base64url');
  }
  return text.slice(0, length);
}

/** A payload as JSON of exactly this many bytes, at least 80. */
export function payload(bytes: number): string {
  // A space follows each colon, because pgbench reads :12345 as a variable.
  const head = '{"user": 12345, "template": "welcome", "to": "someone@example.com", "body": "';
  return `${head}${noise(Math.max(0, bytes - head.length - 2))}"}`;
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

/**
 * An SQL expression for `open item,item,… close` with `count` items, and the line that a pgbench script needs before
 * it. The number is a parameter, because PostgreSQL would parse the JSON of a constant only once, when it plans.
 * Building the text takes as long as reading it from a client's message.
 */
export function listed(count: number, item: string, [open, close]: [string, string]) {
  return {
    set: `\\set more ${count - 1}`,
    text: `(${quoted(open)} || repeat(${quoted(`${item},`)}, :more) || ${quoted(item + close)})`,
  };
}
