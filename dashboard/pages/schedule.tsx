import type { Answer } from '../../client/wire.ts';
import { Facts } from '../components/facts.tsx';
import { FireHistory, FireTimes } from '../components/fire_history.tsx';
import { Json } from '../components/json_tree.tsx';
import { Panel, PolledContent } from '../components/panel.tsx';
import { ScheduleActions } from '../components/schedule_actions.tsx';
import { overlaps } from '../components/schedule_form.tsx';
import { Timing } from '../components/schedule_timing.tsx';
import { QueueLink, State, TaskLink } from '../components/state.tsx';
import { Ago, Updated } from '../components/times.tsx';
import { count, duration, exactTime } from '../format.ts';
import { usePolling } from '../polling.ts';
import { href } from '../route.ts';

type ScheduleAnswer = Answer<'GET /v1/schedules/{schedule}'>;

const NEXT = 10;

const overlapWords: Record<string, string> = Object.fromEntries(overlaps);
const missedWords: Record<string, string> = { one: 'fire the last one', skip: 'fire none' };

function Settings({ schedule: s }: { schedule: ScheduleAnswer }) {
  return (
    <Facts
      facts={[
        ['queue', <QueueLink key="q" queue={s.queue} />],
        ['fires', <Timing key="t" {...s} />],
        ['at', s.run_at && exactTime(s.run_at)],
        ['next fire', s.next_fire_at && <Ago key="n" at={s.next_fire_at} />],
        ['last fire', s.last_fire_at && <Ago key="l" at={s.last_fire_at} />],
        ['last outcome', s.last_outcome && <State key="o" state={s.last_outcome} />],
        ['last task', s.last_task_id && <TaskLink key="i" id={s.last_task_id} />],
        ['last error', s.last_error && <span class="error">{s.last_error}</span>],
        ['failed tries', s.failures > 0 && s.failures],
        ['while the last task has not ended', overlapWords[s.overlap] ?? s.overlap],
        [
          'missed fires',
          s.missed === 'all'
            ? `fire up to ${count(s.missed_limit)}, the oldest first`
            : (missedWords[s.missed] ?? s.missed),
        ],
        ['missed after', duration(s.missed_after_seconds)],
        ['jitter', s.jitter_seconds > 0 && `up to ${duration(s.jitter_seconds)}`],
        ['not before', s.starts_at && exactTime(s.starts_at)],
        ['ends', s.ends_at && exactTime(s.ends_at)],
        ['fire in the payload as', s.fire_as],
        ['paused', s.paused_at && <Ago key="p" at={s.paused_at} />],
        ['created', exactTime(s.created_at)],
        ['changed', s.updated_at !== s.created_at && exactTime(s.updated_at)],
      ]}
    />
  );
}

function NextFires({ schedule: { name, state, time_zone } }: { schedule: ScheduleAnswer }) {
  const input = { path: { schedule: name }, query: { count: NEXT } };
  const polled = usePolling('GET /v1/schedules/{schedule}/next', input, 10_000);
  return (
    <Panel title="Next fires" side={<span class="hint">in {time_zone}</span>}>
      {state === 'paused' && <p class="hint">Without the pause it would fire at these times.</p>}
      <PolledContent polled={polled}>
        {({ fires }) =>
          fires.length > 0 ? <FireTimes fires={fires} /> : <p class="none">It fires no more.</p>
        }
      </PolledContent>
    </Panel>
  );
}

/** One schedule: its settings, its next fires and what its last ones did. */
export function Schedule({ name }: { name: string }) {
  const polled = usePolling('GET /v1/schedules/{schedule}', { path: { schedule: name } }, 5000);
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Schedule {name}</h1>
        {polled.data && polled.data.state !== 'active' && <State state={polled.data.state} />}
        <Updated at={polled.at} />
        <a href={href(['schedules'])}>All schedules</a>
      </div>
      <PolledContent polled={polled}>
        {(schedule) => (
          <>
            <ScheduleActions
              schedule={schedule}
              onDelete={() => {
                location.hash = href(['schedules']);
              }}
            />
            <Panel title="Settings">
              <Settings schedule={schedule} />
            </Panel>
            <NextFires schedule={schedule} />
            <Panel title={`Fires of ${name}`}>
              <FireHistory schedule={name} />
            </Panel>
            <Json title="Payload" value={schedule.payload} />
            <Json
              title="Options"
              value={Object.keys(schedule.options).length > 0 ? schedule.options : null}
            />
          </>
        )}
      </PolledContent>
    </>
  );
}
