import { useEffect, useState } from 'preact/hooks';
import { call, Refused } from '../api.ts';
import { Problem } from '../components/panel.tsx';
import { SelectableTasks } from '../components/selection.tsx';
import { count } from '../format.ts';
import { type Address, href } from '../route.ts';
import { useSession } from '../session.tsx';
import type { Listed } from '../types.ts';

const states = ['waiting', 'ready', 'running', 'done', 'dead', 'cancelled', 'expired'];
const fields = [
  ['id', 'Id'],
  ['queue', 'Queue'],
  ['state', 'State'],
  ['tenant', 'Tenant'],
  ['unique_key', 'Unique key'],
  ['concurrency_key', 'Concurrency key'],
  ['worker', 'Worker'],
  ['error', 'Exact error'],
  ['from', 'Created from'],
  ['to', 'Created before'],
] as const;
type Name = (typeof fields)[number][0];
type SearchForm = Partial<Record<Name | 'archive', string>>;

/** Tasks of a page. A call may find fewer and still return a cursor, because it scans a limited number of rows. */
const LIMIT = 50;

/**
 * A time from the form, in the browser's time zone. An invalid time is sent unchanged, so that the server's error
 * names it.
 */
function instant(local: string | undefined): string | undefined {
  const at = new Date(local ?? '');
  return Number.isNaN(at.getTime()) ? local : at.toISOString();
}

/** Maximum number of calls for one page. */
const MOST_CALLS = 20;

/** The reason why a search is impossible, or null. */
function impossible(form: SearchForm): string | null {
  if (!form.archive) return null;
  if (!form.queue) return 'Give a queue: the archive is searched by queue.';
  return form.concurrency_key
    ? 'The archive cannot be searched by concurrency key: leave it out.'
    : null;
}

function useSearch(form: SearchForm) {
  const { key } = useSession();
  const [rows, setRows] = useState<Listed[]>([]);
  const [cursor, setCursor] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Refused | null>(null);
  const { id, archive, ...formFilter } = form;
  const apiFilter = { ...formFilter, from: instant(formFilter.from), to: instant(formFilter.to) };
  const formJson = JSON.stringify(form);

  async function search(fromCursor: string | null, previousRows: Listed[], signal?: AbortSignal) {
    setBusy(true);
    setError(null);
    try {
      const route = archive ? 'GET /v1/archive/tasks' : 'GET /v1/tasks';
      const query = { ...apiFilter, queue: apiFilter.queue, cursor: fromCursor, limit: LIMIT };
      let page = await call(key, route, { query }, { signal });
      const rows: Listed[] = [...previousRows, ...page.tasks];
      const targetRows = previousRows.length + LIMIT;
      for (let n = 1; page.cursor && rows.length < targetRows && n < MOST_CALLS; n++) {
        const nextQuery = { ...query, cursor: page.cursor, limit: targetRows - rows.length };
        page = await call(key, route, { query: nextQuery }, { signal });
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
    if (impossible(form) === null) void search(null, [], control.signal);
    return () => control.abort();
  }, [formJson]);

  return {
    rows,
    cursor,
    busy,
    error,
    more: () => search(cursor, rows),
    again: () => search(null, []),
  };
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

function Form({ form }: { form: SearchForm }) {
  const submit = (event: Event) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const newForm: SearchForm = {};
    for (const [name] of [...fields, ['archive', '']] as const) {
      const value = String(data.get(name) ?? '').trim();
      if (value) newForm[name] = value;
    }
    location.hash = newForm.id ? href(['tasks', newForm.id]) : href(['tasks'], newForm);
  };
  return (
    <search>
      <form class="search panel" onSubmit={submit} key={JSON.stringify(form)}>
        {fields.map(([name, label]) =>
          name === 'state' ? (
            <label key={name}>
              {label}
              <select name={name} defaultValue={form.state ?? ''}>
                <option value="">any</option>
                {states.map((state) => (
                  <option key={state} value={state} selected={state === form.state}>
                    {state}
                  </option>
                ))}
              </select>
            </label>
          ) : (
            <Field key={name} name={name} label={label} value={form[name] ?? ''} />
          ),
        )}
        <label class="check">
          <input type="checkbox" name="archive" value="1" defaultChecked={form.archive === '1'} />{' '}
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

export function Tasks({ address }: { address: Address }) {
  const { keyInfo } = useSession();
  // A key limited to queues or tenants preselects them.
  const keyForm: SearchForm = {
    ...(keyInfo.queues?.[0] && { queue: keyInfo.queues[0] }),
    ...(keyInfo.tenants?.[1] && { tenant: keyInfo.tenants[0] as string }),
  };
  const form: SearchForm = {
    ...keyForm,
    ...Object.fromEntries([...address.query].filter(([, value]) => value)),
  };
  const { rows, cursor, busy, error, more: loadMore, again } = useSearch(form);
  return (
    <>
      <h1 tabIndex={-1}>Tasks</h1>
      <Form form={form} />
      {error && <Problem error={error} />}
      {impossible(form) && <p class="problem">{impossible(form)}</p>}
      <section class="panel" aria-busy={busy}>
        <header>
          <h2>{form.archive ? 'In the archive' : 'Newest run first'}</h2>
          <span class="updated" role="status">
            {busy ? 'Looking …' : `${count(rows.length)} shown${cursor ? ', there are more' : ''}`}
          </span>
        </header>
        {!error && (!busy || rows.length > 0) && (
          <SelectableTasks
            rows={rows}
            onChange={again}
            emptyText={cursor ? 'No match so far: continue.' : 'There are no such tasks.'}
          />
        )}
        <p class="buttons">
          {cursor && (
            <button type="button" onClick={loadMore} disabled={busy}>
              Continue
            </button>
          )}
          {!form.archive && (
            <a class="button" href={href(['tasks'], { ...form, archive: '1' })}>
              Search the archive
            </a>
          )}
        </p>
      </section>
    </>
  );
}
