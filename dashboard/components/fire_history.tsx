import type { Answer } from '../../client/wire.ts';
import { exactTime } from '../format.ts';
import { usePolling } from '../polling.ts';
import { useMay } from '../session.tsx';
import { PolledContent } from './panel.tsx';
import { State, TaskLink } from './state.tsx';
import { Table } from './table.tsx';
import { Ago } from './times.tsx';

type Fire = Answer<'GET /v1/schedules/{schedule}/fires'>['fires'][number];

const SHOWN = 30;

/** The last fires as a strip of squares, the newest on the right; the table has the same in words. */
function Strip({ fires }: { fires: Fire[] }) {
  return (
    <div class="fire-strip" aria-hidden="true">
      {fires.toReversed().map(({ number, outcome, fire_at }) => (
        <span key={number} class={outcome} title={`${outcome}, ${exactTime(fire_at)}`} />
      ))}
    </div>
  );
}

/** The day of the week of a local time: Mon. */
const weekday = (local: string) =>
  new Date(`${local.slice(0, 10)}T00:00Z`).toLocaleDateString('en-GB', {
    weekday: 'short',
    timeZone: 'UTC',
  });

/** Times of fires in the schedule's time zone. */
export function FireTimes({ fires }: { fires: Answer<'GET /v1/next-fires'>['fires'] }) {
  return (
    <ol class="fires">
      {fires.map(({ fire_at, local_time }) => (
        <li key={fire_at}>
          <time dateTime={fire_at} title={`${exactTime(fire_at)} here`}>
            {weekday(local_time)} {local_time}
          </time>
        </li>
      ))}
    </ol>
  );
}

/** What the last fires of a schedule did. */
export function FireHistory({ schedule }: { schedule: string }) {
  const input = { path: { schedule }, query: { limit: SHOWN } };
  const polled = usePolling('GET /v1/schedules/{schedule}/fires', input, 10_000);
  const may = useMay();
  return (
    <PolledContent polled={polled}>
      {({ fires }) => (
        <>
          <Strip fires={fires} />
          <Table
            label={`Fires of ${schedule}`}
            rows={fires}
            id={({ number }) => number}
            emptyText={`It has not fired yet.${may('admin') ? ' The button Fire now fires it.' : ''}`}
            columns={[
              { name: 'Fire', show: ({ fire_at }) => <Ago at={fire_at} /> },
              { name: 'Outcome', show: ({ outcome }) => <State state={outcome} /> },
              { name: 'Task', show: ({ task_id }) => (task_id ? <TaskLink id={task_id} /> : '–') },
              {
                name: 'Error',
                present: ({ error }) => error,
                show: ({ error }) => <span class="error">{error ?? ''}</span>,
              },
            ]}
          />
        </>
      )}
    </PolledContent>
  );
}
