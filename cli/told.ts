const options: Record<string, string> = {
  priority: '--priority',
  delay_seconds: '--delay',
  run_at: '--run-at',
  tenant: '--tenant',
  max_attempts: '--max-attempts',
  unique_key: '--unique-key',
  unique_policy: '--unique-policy',
  unique_seconds: '--unique-seconds',
  on_conflict: '--on-conflict',
  debounce_max_seconds: '--debounce-max',
  changed_at: '--changed-at',
  expires_in_seconds: '--expires-in',
  expires_at: '--expires-at',
  timeout_seconds: '--timeout',
  concurrency_limit: '--limit',
  lease_seconds: '--lease',
  retry_in_seconds: '--retry-in',
  request_id: '--request-id',
  to_queue: '--to',
  every_seconds: '--every',
  time_zone: '--zone',
  jitter_seconds: '--jitter',
  starts_at: '--starts',
  ends_at: '--ends',
  missed_limit: '--missed-limit',
  missed_after_seconds: '--missed-after',
  fire_as: '--fire-as',
  overlap_seconds: '--overlap',
  push_url: '--push-url',
};
const fields = new RegExp(
  `(?:\\b(?:tasks|failures|results|progress)\\[\\d+\\]\\.)?\\b(${Object.keys(options).join('|')})\\b`,
  'g',
);

/** Tock speaks of fields; whoever is at the command line gave options. */
export function inOptions(said: string): string {
  return said.replace(fields, (whole, field: string) => options[field] ?? whole);
}

/** What is a word of its own in a sentence is an option as a field only: progress[0].note, tasks[0].backoff.kind */
const words =
  /^(?:\w+(?:\[\d+\])?\.)?(limit|worker|concurrency_key|progress|note|backoff|pipeline|stage|cron|overlap|missed)(?:\[\d+\])?(?:\.(\w+))?$/;

function named(field: string): string {
  const [, word, part] = words.exec(field) ?? [];
  return word ? `--${word}${part ? ` ${part}` : ''}` : inOptions(field);
}

/** A refusal with the field it is about. */
export function told(field: string | undefined, said: string): string {
  const name = named(field ?? '');
  const what = inOptions(said);
  if (!name || what.startsWith(name)) return what;
  const bare = name.slice(2);
  const isNamed = what.startsWith(`${bare} is `) || what.startsWith(`${bare} must be `);
  return isNamed ? `--${what}` : `${name}: ${what}`;
}
