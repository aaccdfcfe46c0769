import { useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { count, pretty, some } from '../format.ts';
import { type Live, useLive } from '../live.ts';
import { Asked } from '../parts/confirm.tsx';
import { Enqueue } from '../parts/enqueue.tsx';
import { Findings } from '../parts/findings.tsx';
import { QueueCharts } from '../parts/queue_charts.tsx';
import { Ago, Panel, Shown, Since, State, TaskLink, Updated } from '../parts/small.tsx';
import { Table } from '../parts/table.tsx';
import { ConcurrencyKeyTable, LeaseTable } from '../parts/tables.tsx';
import { href, type Place } from '../route.ts';
import { useAct } from '../say.tsx';
import { useMay } from '../session.tsx';

type Policy = Answer<'GET /v1/queues/{queue}'>;
type Group = Answer<'GET /v1/queues/{queue}/dead'>['groups'][number];

const counted = ['ready', 'running', 'waiting', 'dead'] as const;
const apart = new Set<string>([
  ...counted,
  'name',
  'queue',
  'paused',
  'created_at',
  'oldest_ready_at',
]);

function Actions({ queue, live }: { queue: string; live: Live<Policy> }) {
  const may = useMay();
  const act = useAct();
  const path = { queue };
  const [adding, setAdding] = useState(false);
  const policy = live.data;
  const admin = may('admin', queue);
  const enqueue = may('enqueue', queue);
  if (!policy || (!admin && !enqueue)) return null;
  const pause = async (paused: boolean) => {
    const said = paused ? `${queue} is paused.` : `${queue} goes on.`;
    await act('PUT /v1/queues/{queue}', { path, body: { paused } }, said);
    live.refresh();
  };
  const cancel = async (state: string) => {
    type Part = Answer<'POST /v1/queues/{queue}/cancel'>;
    let changed = 0;
    let cursor: string | null = null;
    // A part at a time: a call looks at 10,000.
    do {
      const part: Part | null = await act(
        'POST /v1/queues/{queue}/cancel',
        { path, body: { state, limit: 10_000, cursor } },
        (said) =>
          `${some(changed + said.changed, `task of ${queue} is`, `tasks of ${queue} are`)} cancelled.`,
      );
      changed += part?.changed ?? 0;
      cursor = part?.cursor ?? null;
    } while (cursor);
    live.refresh();
  };
  const purge = async () => {
    let purged: Answer<'POST /v1/queues/{queue}/purge'> | null;
    let all = 0;
    do {
      purged = await act('POST /v1/queues/{queue}/purge', { path, body: {} }, (said) => {
        all += said.ready + said.waiting;
        return `${some(all, `task of ${queue} is`, `tasks of ${queue} are`)} purged.`;
      });
    } while (purged?.more);
    live.refresh();
  };
  return (
    <fieldset class="buttons" aria-label="Actions">
      {enqueue && (
        <button type="button" class="main" onClick={() => setAdding(true)}>
          Enqueue a task
        </button>
      )}
      {admin && policy.paused && (
        <button type="button" onClick={() => pause(false)}>
          Resume
        </button>
      )}
      {admin && !policy.paused && (
        <Asked label="Pause" title={`Pause ${queue}?`} go="Pause" onGo={() => pause(true)}>
          <p>It takes tasks and hands out none until it is resumed. What runs goes on.</p>
        </Asked>
      )}
      {enqueue && (
        <Asked
          danger
          label="Cancel waiting tasks"
          title={`Cancel all waiting tasks of ${queue}?`}
          go="Cancel them"
          onGo={() => cancel('waiting')}
        >
          <p>
            {some(policy.waiting, 'task waits', 'tasks wait')}: for their time, a concurrency_key or
            others. Each is cancelled.
          </p>
        </Asked>
      )}
      {admin && (
        <Asked danger label="Purge" title={`Purge ${queue}?`} go="Purge" word={queue} onGo={purge}>
          <p>
            All that is ready and waiting,{' '}
            {some((policy.ready ?? 0) + (policy.waiting ?? 0), 'task')}, is cancelled. That can't be
            undone.
          </p>
        </Asked>
      )}
      {adding && <Enqueue queue={queue} onClose={() => setAdding(false)} onDone={live.refresh} />}
    </fieldset>
  );
}

function Why({ queue }: { queue: string }) {
  const live = useLive('GET /v1/queues/{queue}/why', { path: { queue } }, 5000);
  if (live.error?.status === 403 || !live.data) return null;
  const { reasons } = live.data;
  return (
    <section class="panel" aria-label="Why tasks are late">
      <header>
        <h2>{reasons.length > 0 ? 'Why tasks are late' : '✓ Nothing holds this queue up'}</h2>
        <Updated at={live.at} />
      </header>
      {reasons.length > 0 && <Findings findings={reasons} />}
    </section>
  );
}

/** The tile counts what is kept, the groups what can be run again: why the two differ. */
function NotCounted({ dead, groups }: { dead: number | null | undefined; groups: Group[] }) {
  const others = (dead ?? 0) - groups.reduce((all, { tasks }) => all + tasks, 0);
  if (others <= 0) return null;
  return (
    <p class="hint">
      {some(dead, 'dead task is', 'dead tasks are')} kept.{' '}
      {some(others, 'of them is', 'of them are')} not counted here: run again since, or older than
      this queue's retention.
    </p>
  );
}

const MOST_GROUPS = 20;

function Deaths({ queue, dead }: { queue: string; dead: number | null | undefined }) {
  const path = { queue };
  const query = { limit: MOST_GROUPS };
  const live = useLive('GET /v1/queues/{queue}/dead', { path, query }, 10_000);
  const may = useMay();
  const act = useAct();
  // Without an error it would be all that are dead.
  const redrive = async (error: string) => {
    type Part = Answer<'POST /v1/queues/{queue}/redrive'>;
    let cursor: string | null = null;
    let redriven = 0;
    do {
      const request_id = crypto.randomUUID();
      const part: Part | null = await act(
        'POST /v1/queues/{queue}/redrive',
        { path, body: { error, cursor, request_id, reason: 'from the dashboard' } },
        (said) =>
          `${some(redriven + said.redriven, `dead task of ${queue} runs`, `dead tasks of ${queue} run`)} again.`,
      );
      redriven += part?.redriven ?? 0;
      cursor = part?.cursor ?? null;
    } while (cursor);
    live.refresh();
  };
  return (
    <Panel title="Dead tasks by error" side={<Updated at={live.at} />}>
      <Shown live={live}>
        {({ groups, counted_all }) => (
          <>
            <Table
              label="Dead tasks by error"
              rows={groups}
              id={({ newest_id }) => newest_id}
              none={dead ? 'No dead task is left to rerun.' : 'No task is dead.'}
              columns={[
                {
                  name: 'Error',
                  show: ({ error }) => <span class="error">{error ?? '(none)'}</span>,
                },
                { name: 'Tasks', number: true, by: (g) => g.tasks, show: (g) => count(g.tasks) },
                { name: 'Newest', show: ({ newest_at }) => <Ago at={newest_at} /> },
                { name: 'Example', show: ({ newest_id }) => <TaskLink id={newest_id} /> },
                {
                  name: 'What to do',
                  show: ({ error, tasks }) => (
                    <span class="buttons">
                      <a
                        href={href(['tasks'], { queue, state: 'dead', error: error ?? undefined })}
                      >
                        {error === null ? 'See all that are dead' : 'See them'}
                        <span class="hidden">: {error}</span>
                      </a>
                      {error !== null && may('enqueue', queue) && (
                        <Asked
                          label="Redrive"
                          title={`Run ${some(tasks, 'dead task')} again?`}
                          go="Redrive"
                          onGo={() => redrive(error)}
                        >
                          <p class="error">{error}</p>
                        </Asked>
                      )}
                    </span>
                  ),
                },
              ]}
            />
            {counted_all && groups.length < MOST_GROUPS && (
              <NotCounted dead={dead} groups={groups} />
            )}
            {!counted_all && <p class="hint">The newest 100,000 dead tasks were counted.</p>}
          </>
        )}
      </Shown>
    </Panel>
  );
}

function Facts({ of }: { of: Record<string, unknown> }) {
  const settings = Object.entries(of).filter(([name]) => !apart.has(name));
  return (
    <dl class="facts">
      {settings.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value === null ? 'not set' : typeof value === 'object' ? pretty(value) : String(value)}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Standing({ queue, policy }: { queue: string; policy: Policy }) {
  return (
    <dl class="tiles">
      {counted.map((state) => (
        <div key={state}>
          <dt>{state}</dt>
          <dd>
            <a href={href(['tasks'], { queue, state })}>{count(policy[state] ?? 0)}</a>
          </dd>
        </div>
      ))}
      <div>
        <dt>oldest ready</dt>
        <dd>
          <Since at={policy.oldest_ready_at} />
        </dd>
      </div>
    </dl>
  );
}

export function Queue({ queue, place }: { queue: string; place: Place }) {
  const path = { queue };
  const live = useLive('GET /v1/queues/{queue}', { path });
  const concurrency_keys = useLive('GET /v1/queues/{queue}/concurrency-keys', { path }, 10_000);
  const leases = useLive('GET /v1/leases', { query: { queue, limit: 20 } }, 5000);
  const limited = live.data?.max_running != null || live.data?.rate_limit != null;
  const limits = useLive('GET /v1/queues/{queue}/limits', limited ? { path } : null, 5000);
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>{queue}</h1>
        {live.data?.paused && <State state="paused" />}
        <Updated at={live.at} />
      </div>
      <Why queue={queue} />
      <Shown live={live}>{(policy) => <Standing queue={queue} policy={policy} />}</Shown>
      <Actions queue={queue} live={live} />
      <QueueCharts queue={queue} place={place} />
      <Deaths queue={queue} dead={live.data?.dead} />
      <Panel title="Who runs what" side={<Updated at={leases.at} />}>
        <Shown live={leases}>
          {({ leases: rows, cursor }) => (
            <>
              <LeaseTable rows={rows} />
              {cursor && <a href={href(['leases'], { queue })}>See all of them</a>}
            </>
          )}
        </Shown>
      </Panel>
      {concurrency_keys.data && concurrency_keys.data.concurrency_keys.length > 0 && (
        <Panel title="ConcurrencyKeys" side={<Updated at={concurrency_keys.at} />}>
          <ConcurrencyKeyTable
            queue={queue}
            rows={concurrency_keys.data.concurrency_keys.slice(0, 100)}
            onChange={concurrency_keys.refresh}
          />
          {concurrency_keys.data.concurrency_keys.length > 100 && (
            <p class="hint">
              100 of {count(concurrency_keys.data.concurrency_keys.length)} are shown.
            </p>
          )}
        </Panel>
      )}
      {limits.data && (
        <Panel title="Limits" side={<Updated at={limits.at} />}>
          <Facts of={limits.data} />
        </Panel>
      )}
      {live.data && (
        <Panel title="Settings">
          <Facts of={live.data} />
        </Panel>
      )}
    </>
  );
}
