import { FoundTasks } from '../components/found_tasks.tsx';
import { Panel } from '../components/panel.tsx';
import { SearchForm } from '../components/search_form.tsx';
import { type Address, href } from '../route.ts';
import { defaultsOf, fieldNames, searchOf } from '../search.ts';
import { useSession } from '../session.tsx';

/** A search for tasks, over all queues. */
export function Tasks({ address }: { address: Address }) {
  const { keyInfo } = useSession();
  const search = { ...defaultsOf(keyInfo), ...searchOf(address.query) };
  return (
    <>
      <h1 tabIndex={-1}>Tasks</h1>
      <SearchForm
        archive
        search={search}
        fields={fieldNames}
        clear={href(['tasks'])}
        onSearch={(next) => {
          location.hash = next.id ? href(['tasks', next.id]) : href(['tasks'], next);
        }}
      />
      <Panel title={search.archive ? 'In the archive' : 'In the database'}>
        <FoundTasks search={search} emptyText="There are no such tasks." />
      </Panel>
    </>
  );
}
