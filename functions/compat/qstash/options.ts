import { refusal } from '../../http/problem.ts';
import { secondsOf, TEN_YEARS } from './duration.ts';
import { type Callback, type FlowControl, methods } from './message.ts';
import { retryDelay } from './retry_delay.ts';

/** QStash's number of retries. */
const RETRIES = 3;

/** What the headers of a publish say, in addition to the parts of a delivery. */
export type Options = Omit<Callback, 'url'> & {
  not_before?: number;
  deduplication_id?: string;
  by_content: boolean;
  callback?: Callback;
  failure_callback?: Callback;
  flow?: FlowControl;
  labels?: string[];
  redact?: string[];
  cron?: string;
  schedule?: string;
  queue?: string;
};

const bad = (header: string, allowed: string) => refusal(400, `${header}: ${allowed}`);

function wholeNumber(header: string, text: string, min: number, max: number): number {
  const value = /^\d{1,12}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw bad(header, `a whole number from ${min} to ${max}`);
}

/** The headers that a delivery gets: those with the prefix Upstash-Forward-. */
function forwarded(headers: Headers, prefix: string): Record<string, string> {
  const start = `${prefix}Forward-`.toLowerCase();
  const all = [...headers].flatMap(([name, value]) =>
    name.startsWith(start) ? [[name.slice(start.length), value] as const] : [],
  );
  return Object.fromEntries(all.filter(([name]) => name !== ''));
}

/** The parts of a delivery, of the message itself or of a callback. */
function deliveryOf(headers: Headers, prefix: string): Omit<Callback, 'url'> {
  const get = (name: string) => headers.get(prefix + name) || undefined;
  const wanted = get('Method')?.toUpperCase() ?? 'POST';
  const method = methods.find((known) => known === wanted);
  if (!method) throw bad(`${prefix}Method`, `one of ${methods.join(', ')}`);
  const [retries, delay, retry_delay, timeout] = [
    get('Retries'),
    get('Delay'),
    get('Retry-Delay'),
    get('Timeout'),
  ];
  if (retry_delay !== undefined && Number.isNaN(retryDelay(retry_delay, 1)))
    throw bad(`${prefix}Retry-Delay`, 'an expression with retried, such as pow(2, retried) * 1000');
  return {
    method,
    headers: forwarded(headers, prefix),
    retries: retries === undefined ? RETRIES : wholeNumber(`${prefix}Retries`, retries, 0, 999),
    ...(delay !== undefined && { delay: secondsOf(`${prefix}Delay`, delay) }),
    ...(retry_delay !== undefined && { retry_delay }),
    ...(timeout !== undefined && {
      timeout: Math.max(1, secondsOf(`${prefix}Timeout`, timeout)),
    }),
  };
}

function callbackOf(headers: Headers, name: string): Callback | undefined {
  const url = headers.get(name);
  if (!url) return undefined;
  return { ...deliveryOf(headers, `${name}-`), url };
}

function flowOf(headers: Headers): FlowControl | undefined {
  const key = headers.get('Upstash-Flow-Control-Key');
  if (!key) return undefined;
  // A path cannot name . and .., and key: is a prefix of Tock's.
  if (key.length > 200 || /^(key:|\.\.?$)/.test(key))
    throw bad('Upstash-Flow-Control-Key', 'up to 200 characters, not . or .., without key: before');
  const header = 'Upstash-Flow-Control-Value';
  const parts = (headers.get(header) ?? '').split(',').filter((part) => part.trim() !== '');
  const values = new Map<string, string>();
  for (const part of parts) {
    const [, name, value] = /^\s*(parallelism|rate|period)\s*=\s*(\w+)\s*$/.exec(part) ?? [];
    if (name === undefined || value === undefined)
      throw bad(header, 'like parallelism=3, rate=10, period=1m');
    values.set(name, value);
  }
  const [parallelism, rate, period] = ['parallelism', 'rate', 'period'].map((n) => values.get(n));
  if (parallelism === undefined && rate === undefined) throw bad(header, 'a parallelism or a rate');
  // A period without a unit is in seconds.
  const seconds =
    period && secondsOf(header, /^\d+$/.test(period) ? `${period.slice(0, 9)}s` : period);
  if (seconds === 0 || (seconds && seconds > 86_400)) throw bad(header, 'a period of 1s to 1d');
  return {
    key,
    ...(parallelism && { parallelism: wholeNumber(header, parallelism, 1, 1000) }),
    ...(rate && { rate: wholeNumber(header, rate, 1, 1_000_000), period: seconds || 1 }),
  };
}

const listOf = (headers: Headers, name: string) =>
  (headers.get(name) ?? '').split(',').flatMap((part) => part.trim() || []);

/** Reads the Upstash-* headers of a message; unknown ones are ignored. */
export function optionsOf(headers: Headers): Options {
  const get = (name: string) => headers.get(`Upstash-${name}`) || undefined;
  const redact = listOf(headers, 'Upstash-Redact-Fields');
  if (!redact.every((field) => /^(body|headers?(\[[^\]]+\])?)$/.test(field)))
    throw bad('Upstash-Redact-Fields', 'body, header or header[name], separated by commas');
  const labels = listOf(headers, 'Upstash-Label');
  const not_before = get('Not-Before');
  const type = headers.get('Content-Type');
  const delivery = deliveryOf(headers, 'Upstash-');
  return {
    ...delivery,
    headers: { ...(type !== null && { 'content-type': type }), ...delivery.headers },
    by_content: get('Content-Based-Deduplication')?.toLowerCase() === 'true',
    callback: callbackOf(headers, 'Upstash-Callback'),
    failure_callback: callbackOf(headers, 'Upstash-Failure-Callback'),
    flow: flowOf(headers),
    cron: get('Cron')?.trim(),
    schedule: get('Schedule-Id'),
    queue: get('Queue-Name'),
    deduplication_id: get('Deduplication-Id'),
    ...(not_before !== undefined && {
      not_before: wholeNumber(
        'Upstash-Not-Before',
        not_before,
        0,
        Math.floor(Date.now() / 1000) + TEN_YEARS,
      ),
    }),
    ...(labels.length > 0 && { labels }),
    ...(redact.length > 0 && { redact }),
  };
}
