import type { ComponentChildren } from 'preact';
import { count } from '../format.ts';
import { href } from '../route.ts';
import { filterOf, impossible, type Search, useSearch } from '../search.ts';
import { useMay } from '../session.tsx';
import { AllMatching } from './all_matching.tsx';
import { Problem } from './panel.tsx';
import { SelectableTasks } from './selection.tsx';
import { Updated } from './times.tsx';

type Props = {
  search: Search;
  emptyText: ComponentChildren;
  ofOneQueue?: boolean;
  /** The interval at which the first page is read again. */
  everyMs?: number;
};

/** The order in which the server lists the tasks of a search. */
function orderOf({ archive, concurrency_key, state }: Search): string {
  if (archive) return 'newest files first';
  if (concurrency_key) return 'holders first, then the longest wait';
  return state === 'waiting' ? 'newest wait first' : 'newest run first';
}

/** The tasks that match a search, one page after the other, and what the key may do with them. */
export function FoundTasks({ search, emptyText, ofOneQueue, everyMs }: Props) {
  const { rows, cursor, at, busy, error, more } = useSearch(search, everyMs);
  const may = useMay();
  const mayChange = search.queue ? may('enqueue', search.queue) : may('enqueue');
  const reason = impossible(search);
  return (
    <section aria-label="Found tasks" class="found" aria-busy={busy}>
      <div class="toolbar">
        <p class="buttons">
          <span class="updated" role="status">
            {busy ? 'Looking …' : `${count(rows.length)} shown${cursor ? ', there are more' : ''}`}
          </span>
          {rows.length > 1 && <span class="updated">{orderOf(search)}</span>}
          {everyMs && <Updated at={at} />}
        </p>
        {!search.archive && (
          <AllMatching
            isOffered={cursor !== null || (mayChange && rows.length > 0)}
            key={JSON.stringify(search)}
            filter={filterOf(search)}
            label={mayChange ? 'Change all that match' : 'Count all that match'}
          />
        )}
      </div>
      {error && <Problem error={error} />}
      {reason && <p class="problem">{reason}</p>}
      {(rows.length > 0 || (!busy && !error)) && (
        <SelectableTasks
          rows={rows}
          emptyText={cursor ? 'No match so far: continue.' : emptyText}
          {...(ofOneQueue && { ofOneQueue })}
        />
      )}
      <p class="buttons">
        {cursor && (
          <button type="button" onClick={more} disabled={busy}>
            Continue
          </button>
        )}
        {!search.archive && !['waiting', 'ready', 'running'].includes(search.state ?? '') && (
          <a class="button" href={href(['tasks'], { ...search, archive: '1' })}>
            Search the archive
          </a>
        )}
      </p>
    </section>
  );
}
