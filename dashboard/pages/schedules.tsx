import { useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { Empty } from '../components/empty.tsx';
import { FireHistory } from '../components/fire_history.tsx';
import { Further, Panel, PolledContent } from '../components/panel.tsx';
import { ScheduleForm } from '../components/schedule_form.tsx';
import { QueueLink, State, TaskLink } from '../components/state.tsx';
import { type Column, Table } from '../components/table.tsx';
import { Ago, Updated } from '../components/times.tsx';
import { duration } from '../format.ts';
import { useAction } from '../notifications.tsx';
import { type Polled, usePolling } from '../polling.ts';
import { href } from '../route.ts';
import { useMay } from '../session.tsx';

type Schedule = Answer<'GET /v1/schedules'>['schedules'][number];

function timing({ cron, every_seconds, time_zone }: Schedule) {
  if (cron) {
    return (
      <>
        <code>{cron}</code> {time_zone}
      </>
    );
  }
  return every_seconds ? `every ${duration(every_seconds)}` : 'once';
}

const MOST = 100;

/** What the key may do with a schedule. */
function Actions({
  row: { name, queue, state },
  edit,
  showHistory,
  onChange,
}: {
  row: Schedule;
  edit(): void;
  /** Absent where the fires are shown already. */
  showHistory?: () => void;
  onChange(): void;
}) {
  const may = useMay();
  const action = useAction();
  const path = { schedule: name };
  const run = async () => {
    const input = { path, body: { request_id: crypto.randomUUID() } };
    const message = ({ id }: { id: string }) => `${name} has fired: task ${id}.`;
    await action('POST /v1/schedules/{schedule}/run', input, message);
    onChange();
  };
  const pause = async () => {
    await action('POST /v1/schedules/{schedule}/pause', { path }, `${name} is paused.`);
    onChange();
  };
  const resume = async () => {
    await action('POST /v1/schedules/{schedule}/resume', { path }, `${name} is resumed.`);
    onChange();
  };
  const button = (text: string, rest: string, onClick: () => unknown) => (
    <button type="button" onClick={onClick}>
      {text}
      <span class="hidden">
        {rest} {name}
      </span>
    </button>
  );
  return (
    <span class="buttons">
      {showHistory && button('History', ' of', showHistory)}
      {may('admin', queue) && (
        <>
          {button('Edit', '', edit)}
          {button('Fire now', ':', run)}
          {state === 'paused' ? button('Resume', '', resume) : button('Pause', '', pause)}
        </>
      )}
    </span>
  );
}

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
  { name: 'When', show: timing },
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

/** The schedules by name, or one of them with its fires. */
export function Schedules({ schedule }: { schedule: string | undefined }) {
  const [after, setAfter] = useState<string | undefined>();
  const list = usePolling(
    'GET /v1/schedules',
    schedule === undefined ? { query: { after, limit: MOST } } : null,
    5000,
  );
  const single = usePolling(
    'GET /v1/schedules/{schedule}',
    schedule === undefined ? null : { path: { schedule } },
    5000,
  );
  const polled: Polled<{ schedules: Schedule[] }> =
    schedule === undefined
      ? list
      : { ...single, data: single.data && { schedules: [single.data] } };
  const [form, setForm] = useState<{ name: string | null } | null>(null);
  const [chosen, setHistory] = useState<string | null>(null);
  const history = schedule ?? chosen;
  const may = useMay();
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>{schedule === undefined ? 'Schedules' : `Schedule ${schedule}`}</h1>
        <Updated at={polled.at} />
        {schedule !== undefined && <a href={href(['schedules'])}>All schedules</a>}
        {schedule === undefined && may('admin') && (
          <button type="button" class="main" onClick={() => setForm({ name: null })}>
            New schedule
          </button>
        )}
      </div>
      {form && (
        <ScheduleForm name={form.name} onClose={() => setForm(null)} onDone={polled.refresh} />
      )}
      <section class="panel" aria-label="Schedules">
        <PolledContent polled={polled}>
          {({ schedules }) => (
            <>
              <Table
                label="Schedules"
                rows={schedules}
                id={({ name }) => name}
                emptyText={
                  <Empty command="tock schedule put nightly reports --cron '0 3 * * *' --zone Europe/Berlin">
                    There are no schedules. This enqueues a task to reports each night at three:
                  </Empty>
                }
                columns={[
                  ...columns,
                  {
                    name: 'Actions',
                    show: (row) => (
                      <Actions
                        row={row}
                        edit={() => setForm({ name: row.name })}
                        {...(schedule === undefined && {
                          showHistory: () => setHistory(row.name),
                        })}
                        onChange={polled.refresh}
                      />
                    ),
                  },
                ]}
              />
              <Further
                after={after}
                next={schedules.length < MOST ? null : schedules.at(-1)?.name}
                goTo={setAfter}
              />
            </>
          )}
        </PolledContent>
      </section>
      {history && (
        <Panel
          title={`Fires of ${history}`}
          side={
            chosen &&
            schedule === undefined && (
              <button type="button" class="quiet" onClick={() => setHistory(null)}>
                Close
              </button>
            )
          }
        >
          <FireHistory key={history} schedule={history} />
        </Panel>
      )}
    </>
  );
}
