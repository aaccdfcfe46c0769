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
  concurrency_key: '--concurrency-key',
  concurrency_limit: '--limit',
  waiting_for: '--waiting-for',
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

/** Replaces the fields of Tock's messages by command-line options. */
export function withOptions(message: string): string {
  return message.replace(fields, (match, field: string) => options[field] ?? match);
}

/**
 * Fields that are also ordinary words. They are replaced only where they name the field, as in progress[0].note or
 * tasks[0].backoff.kind.
 */
const words =
  /^(?:\w+(?:\[\d+\])?\.)?(limit|worker|progress|note|backoff|pipeline|stage|cron|overlap|missed)(?:\[\d+\])?(?:\.(\w+))?$/;

function optionName(field: string): string {
  const [, word, property] = words.exec(field) ?? [];
  return word ? `--${word}${property ? ` ${property}` : ''}` : withOptions(field);
}

/** An error message with the option that it concerns. */
export function withOptionName(field: string | undefined, message: string): string {
  const name = optionName(field ?? '');
  const text = withOptions(message);
  if (!name || text.startsWith(name)) return text;
  const bare = name.slice(2);
  const isNamed = text.startsWith(`${bare} is `) || text.startsWith(`${bare} must be `);
  return isNamed ? `--${text}` : `${name}: ${text}`;
}
