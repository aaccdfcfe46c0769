import { useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { FireHistory } from '../components/fire_history.tsx';
import { Further, Panel, PolledContent } from '../components/panel.tsx';
import { ScheduleForm } from '../components/schedule_form.tsx';
import { QueueLink, State, TaskLink } from '../components/state.tsx';
import { Table } from '../components/table.tsx';
import { Ago, Updated } from '../components/times.tsx';
import { duration } from '../format.ts';
import { useAction } from '../notifications.tsx';
import { usePolling } from '../polling.ts';
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

export function Schedules() {
  const [after, setAfter] = useState<string | undefined>();
  const polled = usePolling('GET /v1/schedules', { query: { after, limit: MOST } }, 5000);
  const [form, setForm] = useState<{ name: string | null } | null>(null);
  const [history, setHistory] = useState<string | null>(null);
  const may = useMay();
  const action = useAction();
  const run = async (schedule: string) => {
    const input = { path: { schedule }, body: { request_id: crypto.randomUUID() } };
    const message = ({ id }: { id: string }) => `${schedule} has fired: task ${id}.`;
    await action('POST /v1/schedules/{schedule}/run', input, message);
    polled.refresh();
  };
  const pause = async (schedule: string) => {
    const path = { schedule };
    await action('POST /v1/schedules/{schedule}/pause', { path }, `${schedule} is paused.`);
    polled.refresh();
  };
  const resume = async (schedule: string) => {
    const path = { schedule };
    await action('POST /v1/schedules/{schedule}/resume', { path }, `${schedule} is resumed.`);
    polled.refresh();
  };
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Schedules</h1>
        <Updated at={polled.at} />
        {may('admin') && (
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
                emptyText="There are no schedules: New schedule creates one, and so does tock schedule put."
                columns={[
                  {
                    name: 'Name',
                    sortKey: ({ name }) => name,
                    show: ({ name, state }) => (
                      <>
                        {name} {state !== 'active' && <State state={state} />}
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
                        <Ago at={s.last_fire_at} /> {s.last_outcome}{' '}
                        {s.last_task_id && <TaskLink id={s.last_task_id} />}
                        {s.last_error && <span class="error"> {s.last_error}</span>}
                      </>
                    ),
                  },
                  {
                    name: 'Actions',
                    show: ({ name, queue, state }) => {
                      const historyButton = (
                        <button type="button" onClick={() => setHistory(name)}>
                          History<span class="hidden"> of {name}</span>
                        </button>
                      );
                      if (!may('admin', queue)) return historyButton;
                      return (
                        <span class="buttons">
                          {historyButton}
                          <button type="button" onClick={() => setForm({ name })}>
                            Edit<span class="hidden"> {name}</span>
                          </button>
                          <button type="button" onClick={() => run(name)}>
                            Fire now<span class="hidden">: {name}</span>
                          </button>
                          {state === 'paused' ? (
                            <button type="button" onClick={() => resume(name)}>
                              Resume<span class="hidden"> {name}</span>
                            </button>
                          ) : (
                            <button type="button" onClick={() => pause(name)}>
                              Pause<span class="hidden"> {name}</span>
                            </button>
                          )}
                        </span>
                      );
                    },
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
            <button type="button" class="quiet" onClick={() => setHistory(null)}>
              Close
            </button>
          }
        >
          <FireHistory key={history} schedule={history} />
        </Panel>
      )}
    </>
  );
}
