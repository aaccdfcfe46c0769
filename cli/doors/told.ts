const options: Record<string, string> = {
  priority: '--priority',
  delay_seconds: '--delay',
  run_at: '--run-at',
  tenant: '--tenant',
  max_attempts: '--max-attempts',
  request_id: '--request-id',
  to_queue: '--to',
};
const fields = new RegExp(
  `(?:\\btasks\\[\\d+\\]\\.)?\\b(${Object.keys(options).join('|')})\\b`,
  'g',
);

/** Tock speaks of fields; whoever is at the command line gave options. */
export function inOptions(said: string): string {
  return said.replace(fields, (whole, field: string) => options[field] ?? whole);
}

/** A refusal with the field it is about. */
export function told(field: string | undefined, said: string): string {
  const [name, what] = [inOptions(field ?? ''), inOptions(said)];
  return name && !what.startsWith(name) ? `${name}: ${what}` : what;
}
