import { FoundTasks } from '../components/found_tasks.tsx';
import { Panel } from '../components/panel.tsx';
import { SearchForm } from '../components/search_form.tsx';
import { type Address, href } from '../route.ts';
import { fieldNames, type Search, searchOf } from '../search.ts';
import { useSession } from '../session.tsx';

/** A search for tasks, over all queues. */
export function Tasks({ address }: { address: Address }) {
  const { keyInfo } = useSession();
  // A key limited to queues or tenants preselects them.
  const search: Search = {
    ...(keyInfo.queues?.[0] && { queue: keyInfo.queues[0] }),
    ...(keyInfo.tenants?.[1] && { tenant: keyInfo.tenants[0] as string }),
    ...searchOf(address.query),
  };
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
      <Panel title={search.archive ? 'In the archive' : 'Newest run first'}>
        <FoundTasks search={search} emptyText="There are no such tasks." />
      </Panel>
    </>
  );
}
