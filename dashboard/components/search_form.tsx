import { seesAll } from '../pages.ts';
import { usePolling } from '../polling.ts';
import { type FieldName, payloadFilter, type Search, searchFields } from '../search.ts';
import { useSession } from '../session.tsx';

const options: Partial<Record<FieldName, string[]>> = {
  state: ['waiting', 'ready', 'running', 'done', 'dead', 'cancelled', 'expired'],
  waiting_for: ['time', 'concurrency_key', 'dependency', 'child', 'event'],
  rerun: ['true', 'false'],
};
const labels: Record<string, string> = { true: 'yes', false: 'not yet', dependency: 'parents' };

function Field({ name, value }: { name: FieldName; value: string }) {
  const label = searchFields[name];
  const choice = options[name];
  if (name === 'from' || name === 'to')
    return (
      <label>
        {label}
        <input name={name} type="datetime-local" defaultValue={value} />
      </label>
    );
  if (choice)
    return (
      <label>
        {label}
        <select name={name} defaultValue={value}>
          <option value="">any</option>
          {choice.map((option) => (
            <option key={option} value={option} selected={option === value}>
              {labels[option] ?? option.replace('_', ' ')}
            </option>
          ))}
        </select>
      </label>
    );
  return (
    <label>
      {label}
      <input
        name={name}
        type="search"
        list={name === 'queue' ? 'queue-names' : undefined}
        defaultValue={value}
        {...(name === 'id' && { pattern: '[0-9]*' })}
        {...(name === 'payload' && { placeholder: 'customer=7, or JSON' })}
      />
    </label>
  );
}

/** Suggestions for the field of the queue. */
function QueueNames() {
  const { keyInfo } = useSession();
  const { data } = usePolling('GET /v1/queues', seesAll(keyInfo) ? {} : null, 60_000);
  const names = keyInfo.queues ?? data?.queues.map(({ name }) => name) ?? [];
  return (
    <datalist id="queue-names">
      {names.slice(0, 1000).map((name) => (
        <option key={name} value={name} />
      ))}
    </datalist>
  );
}

/** The buttons of a search. `clear` is the link that empties its fields. */
export const SearchButtons = ({ clear }: { clear: string }) => (
  <p class="buttons">
    <a class="button" href={clear}>
      Clear
    </a>
    <button type="submit" class="main">
      Search
    </button>
  </p>
);

type Props = {
  search: Search;
  fields: readonly FieldName[];
  /** The link that clears the form. */
  clear: string;
  /** True if the form can search the archive. */
  archive?: boolean;
  /** Called with the fields of the form. */
  onSearch(search: Search): void;
};

/** The fields of a search for tasks. */
export function SearchForm({ search, fields, clear, archive, onSearch }: Props) {
  const submit = (event: Event) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const given: Search = {};
    for (const name of [...fields, 'archive'] as const) {
      const value = String(data.get(name) ?? '').trim();
      if (value) given[name] = name === 'payload' ? payloadFilter(value) : value;
    }
    onSearch(given);
  };
  return (
    <search>
      <form class="search panel" onSubmit={submit} key={JSON.stringify(search)}>
        {fields.map((name) => (
          <Field key={name} name={name} value={search[name] ?? ''} />
        ))}
        {archive && (
          <label class="check">
            <input
              type="checkbox"
              name="archive"
              value="1"
              defaultChecked={search.archive === '1'}
            />{' '}
            In the archive
          </label>
        )}
        {fields.includes('queue') && <QueueNames />}
        <SearchButtons clear={clear} />
      </form>
    </search>
  );
}
