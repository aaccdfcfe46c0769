import type { Answer } from '../../client/wire.ts';
import { Empty } from '../components/empty.tsx';
import { FilterForm } from '../components/filter_form.tsx';
import { PageLinks } from '../components/page_links.tsx';
import { PolledContent } from '../components/panel.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Ago, Updated } from '../components/times.tsx';
import { usePolling } from '../polling.ts';
import { type Address, href } from '../route.ts';

type Entry = Answer<'GET /v1/audit-log'>['entries'][number];
type Filter = { key: string; verb: string; object: string };

const PAGE = 50;

const fields = [
  ['key', 'Key, as its prefix'],
  ['verb', 'Verb, such as put_queue'],
  ['object', 'Object, such as a queue'],
] as const;

/** A value that filters the list when it is followed. */
function FilterLink({ filter, text }: { filter: Partial<Filter>; text: string }) {
  return <a href={href(['audit_log'], filter)}>{text}</a>;
}

const columns: Column<Entry>[] = [
  { name: 'When', show: ({ at }) => <Ago at={at} /> },
  {
    name: 'Who',
    show: ({ role, key, key_name }) =>
      key === null ? role : <FilterLink filter={{ key }} text={key_name ?? key} />,
  },
  { name: 'Did', show: ({ verb }) => <FilterLink filter={{ verb }} text={verb} /> },
  { name: 'To', show: ({ object }) => <FilterLink filter={{ object }} text={object} /> },
  {
    name: 'Detail',
    show: ({ detail }) => <code class="brief">{JSON.stringify(detail)}</code>,
  },
];

/** The administrative actions, newest first, by the filters of the address. */
export function AuditLog({ address }: { address: Address }) {
  const of = (name: string) => address.query.get(name) || undefined;
  const filter = { key: of('key'), verb: of('verb'), object: of('object') };
  const before = of('before');
  const polled = usePolling(
    'GET /v1/audit-log',
    { query: { ...filter, before, limit: PAGE } },
    30_000,
  );
  const filtered = Object.values(filter).some((value) => value !== undefined);
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Audit log</h1>
        <Updated at={polled.at} />
      </div>
      <p class="lead">
        Changes of queues, keys, schedules and other settings, newest first. They are kept for a
        year.
      </p>
      <FilterForm page="audit_log" fields={fields} values={filter} />
      <section class="panel" aria-label="Audit log">
        <PolledContent polled={polled}>
          {({ entries }) => (
            <>
              <Table
                stacked
                label="Audit log"
                rows={entries}
                id={({ number }) => number}
                emptyText={
                  filtered || before ? (
                    'No entry matches.'
                  ) : (
                    <Empty command="tock queue set mail max_attempts=5">
                      There is no entry yet. A change of a queue makes one:
                    </Empty>
                  )
                }
                columns={columns}
              />
              <PageLinks
                page="audit_log"
                filter={filter}
                before={before}
                next={entries.length === PAGE ? entries.at(-1)?.number : undefined}
              />
            </>
          )}
        </PolledContent>
      </section>
    </>
  );
}
