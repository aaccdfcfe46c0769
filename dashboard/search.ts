import { useEffect, useRef, useState } from 'preact/hooks';
import type { Query } from '../client/wire.ts';
import { call, Refused } from './api.ts';
import { onChanges } from './changes.ts';
import { isPaused } from './pause.ts';
import { untilNext } from './polling.ts';
import { useSession } from './session.tsx';
import type { KeyInfo, Listed } from './types.ts';

/** The fields of a search, as they stand in the address, with their labels. */
export const searchFields = {
  id: 'Id',
  queue: 'Queue',
  state: 'State',
  waiting_for: 'Waits for',
  tenant: 'Tenant',
  worker: 'Worker',
  error: 'Exact error',
  rerun: 'Run again',
  unique_key: 'Unique key',
  concurrency_key: 'Concurrency key',
  payload: 'Payload contains',
  from: 'Created from',
  to: 'Created before',
} as const;
export type FieldName = keyof typeof searchFields;
export const fieldNames = Object.keys(searchFields) as FieldName[];
export type Search = Partial<Record<FieldName | 'archive', string>>;

/** The search of an address. */
export const searchOf = (query: URLSearchParams): Search =>
  Object.fromEntries(
    [...fieldNames, 'archive'].flatMap((name) =>
      query.get(name) ? [[name, query.get(name)]] : [],
    ),
  );

/** A key limited to queues or tenants preselects them. */
export const defaultsOf = ({ queues, tenants }: KeyInfo): Search => ({
  ...(queues?.[0] && { queue: queues[0] }),
  ...(tenants?.[1] && tenants[0] && { tenant: tenants[0] }),
});

/** Tasks of a page. A call may find fewer and still return a cursor, because it scans a limited number of rows. */
export const PAGE_SIZE = 50;

/** The most tasks of one call. */
const MOST_AGAIN = 1000;

/** Maximum number of calls for one page. */
const MOST_CALLS = 20;

const notInArchive = {
  concurrency_key: 'concurrency key',
  payload: 'payload',
  waiting_for: 'what a task waits for',
  rerun: 'reruns',
};

/** The JSON of a filter by payload. `order=7` is short for {"order": 7}, and `customer: ann` for {"customer": "ann"}. */
export function payloadFilter(text: string): string {
  const [, name, value] = /^"?([\w-]+)"?\s*[=:]\s*(.+)$/.exec(text) ?? [];
  if (!name || !value) return text;
  try {
    JSON.parse(value);
    // The text, so that a large number keeps its digits.
    return `{"${name}": ${value}}`;
  } catch {
    return JSON.stringify({ [name]: value });
  }
}

/** The reason why a search is impossible, or null. */
export function impossible(search: Search): string | null {
  if (!search.archive) return null;
  if (!search.queue) return 'Give a queue: the archive is searched by queue.';
  const [, name] = Object.entries(notInArchive).find(([field]) => search[field as FieldName]) ?? [];
  return name ? `The archive cannot be searched by ${name}: leave it out.` : null;
}

/**
 * A time from the form, in the browser's time zone. An invalid time is sent unchanged, so that the server's error
 * names it.
 */
function instant(local: string | undefined): string | undefined {
  const at = new Date(local ?? '');
  return Number.isNaN(at.getTime()) ? local : at.toISOString();
}

/** The filter of the API. */
export function filterOf({ id, archive, ...search }: Search): Query<'GET /v1/tasks'> {
  const filter = { ...search, from: instant(search.from), to: instant(search.to) };
  return filter as Query<'GET /v1/tasks'>;
}

/** `at` is when the last answer came. */
type Found = { rows: Listed[]; cursor: string | null; calls: number; at: number | null };
const none: Found = { rows: [], cursor: null, calls: 0, at: null };

/**
 * Tasks that match, one page after the other. The first page is read again after each change by the user, and with
 * `everyMs` at this interval, unless it took several calls or the user has asked for more.
 */
export function useSearch(search: Search, everyMs?: number) {
  const { key } = useSession();
  const [found, setFound] = useState(none);
  const [busy, setBusy] = useState(impossible(search) === null);
  const [error, setError] = useState<Refused | null>(null);
  const control = useRef<AbortController | null>(null);
  const searchJson = JSON.stringify(search);
  const loaded = useRef(0);

  async function load(from: string | null, previous: Listed[], most = previous.length + PAGE_SIZE) {
    control.current?.abort();
    control.current = new AbortController();
    const { signal } = control.current;
    try {
      const route = search.archive ? 'GET /v1/archive/tasks' : 'GET /v1/tasks';
      const filter = filterOf(search);
      const rows = [...previous];
      let cursor = from;
      let calls = 0;
      do {
        const query = {
          ...filter,
          queue: filter.queue as string,
          cursor,
          limit: most - rows.length,
        };
        const page = await call(key, route, { query }, { signal });
        rows.push(...page.tasks);
        cursor = page.cursor;
        calls++;
      } while (cursor && rows.length < most && calls < MOST_CALLS);
      const all = most > PAGE_SIZE ? Number.POSITIVE_INFINITY : calls;
      loaded.current = rows.length;
      setFound({ rows, cursor, calls: all, at: Date.now() });
      setError(null);
    } catch (thrown) {
      if (signal.aborted) return;
      setError(thrown instanceof Refused ? thrown : new Refused(0, { detail: String(thrown) }));
    }
    setBusy(false);
  }

  function show(from: string | null, previous: Listed[], most?: number) {
    setBusy(true);
    setError(null);
    void load(from, previous, most);
  }
  /** Reads again as many tasks as are shown. */
  const again = () => show(null, [], Math.max(PAGE_SIZE, Math.min(loaded.current, MOST_AGAIN)));

  useEffect(() => {
    setFound(none);
    if (impossible(search) === null) show(null, []);
    else setBusy(false);
    const offChanges = onChanges(() => impossible(search) === null && again());
    return () => {
      offChanges();
      control.current?.abort();
    };
  }, [searchJson]);

  const polls = everyMs !== undefined && found.calls === 1 && !busy;
  useEffect(() => {
    if (!polls) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wait = () => {
      timer = setTimeout(() => {
        wait();
        if (!document.hidden && !isPaused()) void load(null, []);
      }, untilNext(everyMs));
    };
    wait();
    return () => clearTimeout(timer);
  }, [polls, searchJson, everyMs]);

  return {
    ...found,
    busy,
    error,
    more: () => show(found.cursor, found.rows),
  };
}
