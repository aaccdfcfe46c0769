import { href } from '../route.ts';
import { SearchButtons } from './search_form.tsx';

/** Text filters of a page, kept in its address. */
export function FilterForm({
  page,
  fields,
  values,
}: {
  page: string;
  fields: readonly (readonly [name: string, label: string])[];
  values: Record<string, string | undefined>;
}) {
  const submit = (event: Event) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    const entries = fields.map(([name]) => [name, String(data.get(name) ?? '').trim()]);
    location.hash = href([page], Object.fromEntries(entries));
  };
  return (
    <search>
      <form class="search panel" onSubmit={submit} key={JSON.stringify(values)}>
        {fields.map(([name, label]) => (
          <label key={name}>
            {label}
            <input name={name} defaultValue={values[name] ?? ''} />
          </label>
        ))}
        <SearchButtons clear={href([page])} />
      </form>
    </search>
  );
}
