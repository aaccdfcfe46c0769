import { Empty } from '../components/empty.tsx';
import { FilterForm } from '../components/filter_form.tsx';
import { FoundTasks } from '../components/found_tasks.tsx';
import { Panel } from '../components/panel.tsx';
import type { Address } from '../route.ts';
import { defaultsOf } from '../search.ts';
import { useSession } from '../session.tsx';

const fields = [
  ['queue', 'Queue'],
  ['tenant', 'Tenant'],
] as const;

/** Tasks that wait for others, and how many of those are done. */
export function Groups({ address }: { address: Address }) {
  const { keyInfo } = useSession();
  const given = Object.fromEntries(
    fields.flatMap(([name]) => (address.query.get(name) ? [[name, address.query.get(name)]] : [])),
  ) as { queue?: string; tenant?: string };
  const filter = { ...defaultsOf(keyInfo), ...given };
  const queue = filter.queue ?? 'mail';
  return (
    <>
      <h1 tabIndex={-1}>Groups</h1>
      <p class="lead">
        A group is a task that waits for other tasks, its parents, such as the callback of a batch.
        It is listed until it no longer waits. A cancel ends only the task that waits: its parents
        go on.
      </p>
      <FilterForm page="groups" fields={fields} values={filter} />
      <Panel title="Newest first">
        <FoundTasks
          search={{ ...filter, state: 'waiting', waiting_for: 'dependency' }}
          everyMs={10_000}
          emptyText={
            <Empty
              command={`printf '%s\\n' '{"payload": 1}' '{"payload": 2}' '{"payload": "callback", "depends_on": ["*"]}' | tock enqueue ${queue} --tasks`}
            >
              No task waits for others{given.queue || given.tenant ? ' here' : ''}. This makes a
              batch of two tasks with a callback:
            </Empty>
          }
        />
      </Panel>
    </>
  );
}
