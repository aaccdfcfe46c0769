import { useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { Empty } from '../components/empty.tsx';
import { FilterForm } from '../components/filter_form.tsx';
import { Further, PolledContent } from '../components/panel.tsx';
import { ScheduleActions } from '../components/schedule_actions.tsx';
import { ScheduleForm } from '../components/schedule_form.tsx';
import { Timing } from '../components/schedule_timing.tsx';
import { QueueLink, State, TaskLink } from '../components/state.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Ago, Updated } from '../components/times.tsx';
import { count } from '../format.ts';
import { usePolling } from '../polling.ts';
import { type Address, href } from '../route.ts';
import { useMay } from '../session.tsx';

type Schedule = Answer<'GET /v1/schedules'>['schedules'][number];

const MOST = 100;
/** The most schedules that a search reads. */
const MOST_SEARCHED = 1000;

const fields = [['search', 'Name, queue or cron expression']] as const;

const has = ({ name, queue, cron }: Schedule, text: string) =>
  [name, queue, cron].some((part) => part?.toLowerCase().includes(text.toLowerCase()));

const columns: Column<Schedule>[] = [
  {
    name: 'Name',
    sortKey: ({ name }) => name,
    show: ({ name, state }) => (
      <>
        <a href={href(['schedules', name])}>{name}</a>{' '}
        {state !== 'active' && <State state={state} />}
      </>
    ),
  },
  { name: 'Queue', show: ({ queue }) => <QueueLink queue={queue} /> },
  { name: 'When', show: (schedule) => <Timing {...schedule} /> },
  {
    name: 'Next fire',
    sortKey: ({ next_fire_at }) => next_fire_at ?? '9',
    show: ({ next_fire_at }) => <Ago at={next_fire_at} />,
  },
  {
    name: 'Last fire',
    show: (s) => (
      <>
        <Ago at={s.last_fire_at} /> {s.last_outcome && <State state={s.last_outcome} />}{' '}
        {s.last_task_id && <TaskLink id={s.last_task_id} />}
        {s.last_error && <span class="error"> {s.last_error}</span>}
      </>
    ),
  },
];

/** The schedules by name, or those that match a search. */
export function Schedules({ address }: { address: Address }) {
  const search = address.query.get('search') ?? '';
  const [after, setAfter] = useState<string | undefined>();
  const query = search ? { limit: MOST_SEARCHED } : { after, limit: MOST };
  const polled = usePolling('GET /v1/schedules', { query }, 5000);
  const [isNew, setNew] = useState(false);
  const may = useMay();
  const actions: Column<Schedule> = {
    name: 'Actions',
    show: (schedule) => <ScheduleActions schedule={schedule} />,
  };
  const mayChange = polled.data?.schedules.some(({ queue }) => may('admin', queue));
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Schedules</h1>
        <Updated at={polled.at} />
        {may('admin') && (
          <button type="button" aria-haspopup="dialog" class="main" onClick={() => setNew(true)}>
            New schedule
          </button>
        )}
      </div>
      {isNew && <ScheduleForm name={null} onClose={() => setNew(false)} />}
      <FilterForm page="schedules" fields={fields} values={{ search }} />
      <section class="panel" aria-label="Schedules">
        <PolledContent polled={polled}>
          {({ schedules }) => (
            <>
              <Table
                stacked
                label="Schedules"
                rows={schedules.filter((schedule) => has(schedule, search)).slice(0, MOST)}
                id={({ name }) => name}
                emptyText={
                  search ? (
                    'No schedule matches.'
                  ) : (
                    <Empty command="tock schedule put nightly reports --cron '0 3 * * *' --zone Europe/Berlin">
                      There are no schedules. This enqueues a task to reports each night at three:
                    </Empty>
                  )
                }
                columns={mayChange ? [...columns, actions] : columns}
              />
              {search === '' && (
                <Further
                  after={after}
                  next={schedules.length < MOST ? null : schedules.at(-1)?.name}
                  goTo={setAfter}
                />
              )}
              {search !== '' && schedules.length >= MOST && (
                <p class="hint">
                  The first {count(MOST_SEARCHED)} schedules are searched, and up to {MOST} matches
                  are shown.
                </p>
              )}
            </>
          )}
        </PolledContent>
      </section>
    </>
  );
}
