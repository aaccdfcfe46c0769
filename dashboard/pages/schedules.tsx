import { useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { duration } from '../format.ts';
import { useLive } from '../live.ts';
import { Ago, Further, QueueLink, Shown, State, TaskLink, Updated } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { useAct } from '../say.tsx';
import { useMay } from '../session.tsx';

type Schedule = Answer<'GET /v1/schedules'>['schedules'][number];

function when({ cron, every_seconds, time_zone }: Schedule) {
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
  const live = useLive('GET /v1/schedules', { query: { after, limit: MOST } }, 5000);
  const may = useMay();
  const act = useAct();
  const run = async (schedule: string) => {
    const given = { path: { schedule }, body: { request_id: crypto.randomUUID() } };
    const said = ({ id }: { id: string }) => `${schedule} was run: task ${id}.`;
    await act('POST /v1/schedules/{schedule}/run', given, said);
    live.refresh();
  };
  const pause = async (schedule: string) => {
    const path = { schedule };
    await act('POST /v1/schedules/{schedule}/pause', { path }, `${schedule} is paused.`);
    live.refresh();
  };
  const resume = async (schedule: string) => {
    const path = { schedule };
    await act('POST /v1/schedules/{schedule}/resume', { path }, `${schedule} goes on.`);
    live.refresh();
  };
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Schedules</h1>
        <Updated at={live.at} />
      </div>
      <section class="panel" aria-label="Schedules">
        <Shown live={live}>
          {({ schedules }) => (
            <>
              <Table
                label="Schedules"
                rows={schedules}
                id={({ name }) => name}
                none="There is no schedule: PUT /v1/schedules/:name, or tock schedule put, makes one."
                columns={[
                  {
                    name: 'Name',
                    by: ({ name }) => name,
                    show: ({ name, state }) => (
                      <>
                        {name} {state !== 'active' && <State state={state} />}
                      </>
                    ),
                  },
                  { name: 'Queue', show: ({ queue }) => <QueueLink queue={queue} /> },
                  { name: 'When', show: when },
                  {
                    name: 'Next fire',
                    by: ({ next_fire_at }) => next_fire_at ?? '9',
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
                    show: ({ name, queue, state }) =>
                      may('admin', queue) ? (
                        <span class="buttons">
                          <button type="button" onClick={() => run(name)}>
                            Run now<span class="hidden">: {name}</span>
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
                      ) : (
                        '–'
                      ),
                  },
                ]}
              />
              <Further
                after={after}
                next={schedules.length < MOST ? null : schedules.at(-1)?.name}
                go={setAfter}
              />
            </>
          )}
        </Shown>
      </section>
    </>
  );
}
