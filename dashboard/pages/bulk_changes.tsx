import type { Answer } from '../../client/wire.ts';
import { Empty } from '../components/empty.tsx';
import { FilterForm } from '../components/filter_form.tsx';
import { PageLinks } from '../components/page_links.tsx';
import { PolledContent } from '../components/panel.tsx';
import { QueueLink, State } from '../components/state.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Ago, Updated } from '../components/times.tsx';
import { count } from '../format.ts';
import { useHidden } from '../hidden_fields.ts';
import { useAction } from '../notifications.tsx';
import { usePolling } from '../polling.ts';
import type { Address } from '../route.ts';
import { useMay, useSession } from '../session.tsx';

type BulkChange = Answer<'GET /v1/bulk-changes/{id}'>;

const PAGE = 50;

const fields = [['queue', 'Queue']] as const;

function Filter({ all }: { all: object }) {
  const hidden = useHidden();
  const entries = Object.entries(hidden.value(all) as object).filter(([, value]) => value !== null);
  const text = ([name, value]: [string, unknown]) =>
    `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`;
  return <span class="brief">{hidden.text(entries.map(text).join(', ')) || '–'}</span>;
}

const columns: Column<BulkChange>[] = [
  { name: 'Change', show: ({ id, change }) => `${change} ${id}` },
  { name: 'Queue', show: ({ queue }) => <QueueLink queue={queue} /> },
  {
    name: 'Filter and options',
    show: ({ filter, options }) => <Filter all={{ ...filter, ...options }} />,
  },
  { name: 'State', show: ({ state }) => <State state={state} /> },
  { name: 'Changed', number: true, show: ({ changed }) => count(changed) },
  { name: 'Started', show: ({ created_at }) => <Ago at={created_at} /> },
  { name: 'By', show: ({ role, key, key_name }) => key_name ?? key ?? role ?? '–' },
  { name: 'Ended', show: ({ ended_at }) => <Ago at={ended_at} /> },
  {
    name: 'Error',
    present: ({ error }) => error,
    show: ({ error, state }) =>
      error === null ? (
        '–'
      ) : (
        <span class="error">
          {state === 'running' && 'It is tried again: '}
          {error}
        </span>
      ),
  },
];

/** The bulk changes that the database goes on with, newest first. */
export function BulkChanges({ address }: { address: Address }) {
  const { keyInfo } = useSession();
  const may = useMay();
  const action = useAction();
  const queue = address.query.get('queue') || keyInfo.queues?.[0];
  const before = address.query.get('before') || undefined;
  const polled = usePolling('GET /v1/bulk-changes', { query: { queue, before, limit: PAGE } });
  const stop = async (id: string) => {
    await action(
      'POST /v1/bulk-changes/{id}/stop',
      { path: { id }, body: {} },
      ({ state }) => `Bulk change ${id} is ${state}.`,
    );
  };
  const actions: Column<BulkChange> = {
    name: 'Actions',
    present: ({ state }) => state === 'running',
    show: ({ id, queue, state }) =>
      state === 'running' &&
      may('enqueue', queue) && (
        <button type="button" onClick={() => stop(id)}>
          Stop<span class="hidden"> {id}</span>
        </button>
      ),
  };
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Bulk changes</h1>
        <Updated at={polled.at} />
      </div>
      <p class="lead">
        Cancels, changes of priority and redrives that the database goes on with by itself, newest
        first. They are kept for 30 days.
      </p>
      <FilterForm page="bulk_changes" fields={fields} values={{ queue }} />
      <section class="panel" aria-label="Bulk changes">
        <PolledContent polled={polled}>
          {({ bulk_changes }) => (
            <>
              <Table
                stacked
                label="Bulk changes"
                rows={bulk_changes}
                id={({ id }) => id}
                emptyText={
                  <Empty command={`tock cancel-where ${queue ?? 'mail'} --background`}>
                    There is none yet. A list of tasks offers them under Change all that match. This
                    command cancels all waiting and ready tasks of a queue:
                  </Empty>
                }
                columns={keyInfo.scopes.includes('enqueue') ? [...columns, actions] : columns}
              />
              <PageLinks
                page="bulk_changes"
                filter={{ queue }}
                before={before}
                next={bulk_changes.length === PAGE ? bulk_changes.at(-1)?.id : undefined}
              />
            </>
          )}
        </PolledContent>
      </section>
    </>
  );
}
