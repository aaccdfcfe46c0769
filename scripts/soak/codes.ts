/**
 * Errors that a killed or a contended server may give; the call is made again, or given up. 42P01 is a
 * leaf that was dropped under a call, or under a snapshot from before.
 */
export const expected =
  /^(42P01|08...|57P0.|57014|40001|40P01|55P03|53...|25P0.|TK503|TK409|E[A-Z]+|connection|timeout)$/;

export function codeOf(error: unknown): string {
  const { code, message = '' } = error as { code?: string; message?: string };
  if (code) return code;
  if (/timeout/i.test(message)) return 'timeout';
  if (/connection|terminated|not queryable|closed|bouncer|server_login/i.test(message))
    return 'connection';
  return message.slice(0, 80);
}
