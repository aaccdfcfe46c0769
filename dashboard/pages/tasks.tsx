import { useEffect, useState } from 'preact/hooks';
import { call, Refused } from '../api.ts';
import { count } from '../format.ts';
import { Problem } from '../parts/small.tsx';
import { TaskTable } from '../parts/tables.tsx';
import { href, type Place } from '../route.ts';
import { useSession } from '../session.tsx';
import type { Listed } from '../types.ts';

const states = ['waiting', 'ready', 'running', 'done', 'dead', 'cancelled', 'expired'];
const fields = [
  ['id', 'Id'],
  ['queue', 'Queue'],
  ['state', 'State'],
  ['tenant', 'Tenant'],
  ['unique_key', 'Unique key'],
  ['concurrency_key', 'ConcurrencyKey'],
  ['worker', 'Worker'],
  ['error', 'Error, in full'],
  ['from', 'Created from'],
  ['to', 'Created before'],
] as const;
type Name = (typeof fields)[number][0];
type Wish = Partial<Record<Name | 'archive', string>>;

/** Asks for so many; a call that looked at much and found nothing gives a cursor all the same. */
const LIMIT = 50;

/** A time of the form's, in the reader's own zone; what is none goes as it is, and is refused by its name. */
function instant(local: string | undefined): string | undefined {
  const at = new Date(local ?? '');
  return Number.isNaN(at.getTime()) ? local : at.toISOString();
}

/** So many calls make a page at most: one looks at so much and may find little. */
const MOST_CALLS = 20;

/** Why there is no use in asking; null where there is. */
function impossible(wish: Wish): string | null {
  if (!wish.archive) return null;
  if (!wish.queue) return 'Name a queue: the archive is looked through by queue.';
  return wish.concurrency_key
    ? 'The archive is not looked through by concurrency key: leave it out.'
    : null;
}

function useSearch(wish: Wish) {
  const { key } = useSession();
  const [rows, setRows] = useState<Listed[]>([]);
  const [cursor, setCursor] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Refused | null>(null);
  const { id, archive, ...rest } = wish;
  const filter = { ...rest, from: instant(rest.from), to: instant(rest.to) };
  const asked = JSON.stringify(wish);

  async function go(after: string | null, before: Listed[], signal?: AbortSignal) {
    setBusy(true);
    setError(null);
    try {
      const route = archive ? 'GET /v1/archive/tasks' : 'GET /v1/tasks';
      const query = { ...filter, queue: filter.queue, cursor: after, limit: LIMIT };
      let page = await call(key, route, { query }, { signal });
      const rows: Listed[] = [...before, ...page.tasks];
      const most = before.length + LIMIT;
      for (let n = 1; page.cursor && rows.length < most && n < MOST_CALLS; n++) {
        const left = { ...query, cursor: page.cursor, limit: most - rows.length };
        page = await call(key, route, { query: left }, { signal });
        rows.push(...page.tasks);
      }
      setRows(rows);
      setCursor(page.cursor);
    } catch (thrown) {
      if (signal?.aborted) return;
      setError(thrown instanceof Refused ? thrown : new Refused(0, { detail: String(thrown) }));
    }
    setBusy(false);
  }

  useEffect(() => {
    const control = new AbortController();
    setRows([]);
    setCursor(null);
    setError(null);
    if (impossible(wish) === null) void go(null, [], control.signal);
    return () => control.abort();
  }, [asked]);

  return { rows, cursor, busy, error, more: () => go(cursor, rows) };
}

function Field({ name, label, value }: { name: Name; label: string; value: string }) {
  if (name === 'from' || name === 'to') {
    return (
      <label>
        {label}
        <input name={name} type="datetime-local" defaultValue={value} />
      </label>
    );
  }
  return (
    <label>
      {label}
      <input name={name} defaultValue={value} {...(name === 'id' && { pattern: '[0-9]*' })} />
    </label>
  );
}

function Form({ wish }: { wish: Wish }) {
  const submit = (event: Event) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const given: Wish = {};
    for (const [name] of [...fields, ['archive', '']] as const) {
      const value = String(data.get(name) ?? '').trim();
      if (value) given[name] = value;
    }
    location.hash = given.id ? href(['tasks', given.id]) : href(['tasks'], given);
  };
  return (
    <search>
      <form class="search panel" onSubmit={submit} key={JSON.stringify(wish)}>
        {fields.map(([name, label]) =>
          name === 'state' ? (
            <label key={name}>
              {label}
              <select name={name} defaultValue={wish.state ?? ''}>
                <option value="">any</option>
                {states.map((state) => (
                  <option key={state} value={state} selected={state === wish.state}>
                    {state}
                  </option>
                ))}
              </select>
            </label>
          ) : (
            <Field key={name} name={name} label={label} value={wish[name] ?? ''} />
          ),
        )}
        <label class="check">
          <input type="checkbox" name="archive" value="1" defaultChecked={wish.archive === '1'} />{' '}
          In the archive
        </label>
        <p class="buttons">
          <a class="button" href={href(['tasks'])}>
            Clear
          </a>
          <button type="submit" class="main">
            Search
          </button>
        </p>
      </form>
    </search>
  );
}

export function Tasks({ place }: { place: Place }) {
  const { who } = useSession();
  // What the key is for, where it is for some.
  const own: Wish = {
    ...(who.queues?.[0] && { queue: who.queues[0] }),
    ...(who.tenants?.[1] && { tenant: who.tenants[0] as string }),
  };
  const wish: Wish = {
    ...own,
    ...Object.fromEntries([...place.query].filter(([, value]) => value)),
  };
  const { rows, cursor, busy, error, more } = useSearch(wish);
  return (
    <>
      <h1 tabIndex={-1}>Tasks</h1>
      <Form wish={wish} />
      {error && <Problem error={error} />}
      {impossible(wish) && <p class="problem">{impossible(wish)}</p>}
      <section class="panel" aria-busy={busy}>
        <header>
          <h2>{wish.archive ? 'In the archive' : 'Newest run first'}</h2>
          <span class="updated" role="status">
            {busy ? 'Looking …' : `${count(rows.length)} shown${cursor ? ', there are more' : ''}`}
          </span>
        </header>
        {!error && (!busy || rows.length > 0) && (
          <TaskTable
            rows={rows}
            none={cursor ? 'None among those looked at so far: go on.' : 'There is no such task.'}
          />
        )}
        <p class="buttons">
          {cursor && (
            <button type="button" onClick={more} disabled={busy}>
              Go on
            </button>
          )}
          {!wish.archive && (
            <a class="button" href={href(['tasks'], { ...wish, archive: '1' })}>
              Look in the archive
            </a>
          )}
        </p>
      </section>
    </>
  );
}
