/**
 * An error with a SQLSTATE. What PostgreSQL said has one (and a severity); what a driver or the
 * network throws, an Error or a mere event, gets the one given.
 */
export function named(error: unknown, code: string): Error {
  const said = Object(error) as Partial<
    Record<'severity' | 'code' | 'routine' | 'message', string>
  >;
  // A setting of our own that is wrong: see misconfigured().
  if (error instanceof Error && said.code === 'TK503') return error;
  // Neon's proxy gives XX000 to all that it says itself, a sleeping database too; PostgreSQL, when
  // it says XX000, also says where.
  const own = said.severity && (said.code !== 'XX000' || said.routine);
  if (error instanceof Error && own) return error;
  return Object.assign(new Error(said.message || String(error)), { code });
}
