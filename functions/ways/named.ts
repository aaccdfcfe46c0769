/**
 * An error with a SQLSTATE. What PostgreSQL said has one (and a severity); what a driver or the
 * network throws, an Error or a mere event, gets the one given.
 */
export function named(error: unknown, code: string): Error {
  const said = Object(error) as { severity?: unknown; message?: string; name?: string };
  if (error instanceof Error && said.severity) return error;
  return Object.assign(new Error(said.message || said.name || String(error)), { code });
}
