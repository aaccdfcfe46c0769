import { useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { ConfirmButton } from '../components/confirm.tsx';
import { Enqueue } from '../components/enqueue.tsx';
import { Findings } from '../components/findings.tsx';
import { Panel, PolledContent } from '../components/panel.tsx';
import { QueueCharts } from '../components/queue_charts.tsx';
import { State, TaskLink } from '../components/state.tsx';
import { Table } from '../components/table.tsx';
import { ConcurrencyKeyTable, LeaseTable } from '../components/tables.tsx';
import { Ago, Since, Updated } from '../components/times.tsx';
import { count, plural, pretty } from '../format.ts';
import { useAction } from '../notifications.tsx';
import { type Polled, usePolling } from '../polling.ts';
import { type Address, href } from '../route.ts';
import { useMay } from '../session.tsx';

type Policy = Answer<'GET /v1/queues/{queue}'>;
type Group = Answer<'GET /v1/queues/{queue}/dead'>['groups'][number];

const states = ['ready', 'running', 'waiting', 'dead'] as const;
const apart = new Set<string>([
  ...states,
  'name',
  'queue',
  'paused',
  'created_at',
  'oldest_ready_at',
]);

function Actions({ queue, polled }: { queue: string; polled: Polled<Policy> }) {
  const may = useMay();
  const action = useAction();
  const path = { queue };
  const [adding, setAdding] = useState(false);
  const policy = polled.data;
  const admin = may('admin', queue);
  const enqueue = may('enqueue', queue);
  if (!policy || (!admin && !enqueue)) return null;
  const pause = async (paused: boolean) => {
    const message = paused ? `${queue} is paused.` : `${queue} is resumed.`;
    await action('PUT /v1/queues/{queue}', { path, body: { paused } }, message);
    polled.refresh();
  };
  const cancel = async (state: string) => {
    type ChangedPart = Answer<'POST /v1/queues/{queue}/cancel'>;
    let changed = 0;
    let cursor: string | null = null;
    // Each call scans 10,000 tasks.
    do {
      const result: ChangedPart | null = await action(
        'POST /v1/queues/{queue}/cancel',
        { path, body: { state, limit: 10_000, cursor } },
        (answer) =>
          `${plural(changed + answer.changed, `task of ${queue} is`, `tasks of ${queue} are`)} cancelled.`,
      );
      changed += result?.changed ?? 0;
      cursor = result?.cursor ?? null;
    } while (cursor);
    polled.refresh();
  };
  const purge = async () => {
    let purged: Answer<'POST /v1/queues/{queue}/purge'> | null;
    let all = 0;
    do {
      purged = await action('POST /v1/queues/{queue}/purge', { path, body: {} }, (answer) => {
        all += answer.ready + answer.waiting;
        return `${plural(all, `task of ${queue} is`, `tasks of ${queue} are`)} purged.`;
      });
    } while (purged?.more);
    polled.refresh();
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
        <ConfirmButton
          label="Pause"
          title={`Pause ${queue}?`}
          buttonLabel="Pause"
          onConfirm={() => pause(true)}
        >
          <p>
            A paused queue accepts tasks and leases none until it is resumed. Running tasks
            continue.
          </p>
        </ConfirmButton>
      )}
      {enqueue && (
        <ConfirmButton
          danger
          label="Cancel waiting tasks"
          title={`Cancel all waiting tasks of ${queue}?`}
          buttonLabel="Cancel them"
          onConfirm={() => cancel('waiting')}
        >
          <p>
            {plural(policy.waiting, 'task waits', 'tasks wait')}: for their time, a concurrency key
            or other tasks. Each is cancelled.
          </p>
        </ConfirmButton>
      )}
      {admin && (
        <ConfirmButton
          danger
          label="Purge"
          title={`Purge ${queue}?`}
          buttonLabel="Purge"
          word={queue}
          onConfirm={purge}
        >
          <p>
            All ready and waiting tasks,{' '}
            {plural((policy.ready ?? 0) + (policy.waiting ?? 0), 'task')}, are cancelled. This
            cannot be undone.
          </p>
        </ConfirmButton>
      )}
      {adding && <Enqueue queue={queue} onClose={() => setAdding(false)} onDone={polled.refresh} />}
    </fieldset>
  );
}

function Why({ queue }: { queue: string }) {
  const polled = usePolling('GET /v1/queues/{queue}/why', { path: { queue } }, 5000);
  if (polled.error?.status === 403 || !polled.data) return null;
  const { reasons } = polled.data;
  return (
    <section class="panel" aria-label="Why tasks are late">
      <header>
        <h2>{reasons.length > 0 ? 'Why tasks are late' : '✓ Nothing delays this queue'}</h2>
        <Updated at={polled.at} />
      </header>
      {reasons.length > 0 && <Findings findings={reasons} />}
    </section>
  );
}

/**
 * Explains why the tile and the groups differ: the tile counts all stored dead tasks, the groups those that can be
 * rerun.
 */
function UncountedDead({ dead, groups }: { dead: number | null | undefined; groups: Group[] }) {
  const uncounted = (dead ?? 0) - groups.reduce((all, { tasks }) => all + tasks, 0);
  if (uncounted <= 0) return null;
  return (
    <p class="hint">
      {plural(dead, 'dead task is', 'dead tasks are')} stored.{' '}
      {plural(uncounted, 'of them is', 'of them are')} not counted here: rerun since, or older than
      this queue's retention.
    </p>
  );
}

const MOST_GROUPS = 20;

function DeadGroups({ queue, dead }: { queue: string; dead: number | null | undefined }) {
  const path = { queue };
  const query = { limit: MOST_GROUPS };
  const polled = usePolling('GET /v1/queues/{queue}/dead', { path, query }, 10_000);
  const may = useMay();
  const action = useAction();
  // The call must name the error, or it would rerun all dead tasks of the queue.
  const redrive = async (error: string) => {
    type ChangedPart = Answer<'POST /v1/queues/{queue}/redrive'>;
    let cursor: string | null = null;
    let redriven = 0;
    do {
      const request_id = crypto.randomUUID();
      const result: ChangedPart | null = await action(
        'POST /v1/queues/{queue}/redrive',
        { path, body: { error, cursor, request_id, reason: 'from the dashboard' } },
        (answer) =>
          `${plural(redriven + answer.redriven, `dead task of ${queue} is`, `dead tasks of ${queue} are`)} rerun.`,
      );
      redriven += result?.redriven ?? 0;
      cursor = result?.cursor ?? null;
    } while (cursor);
    polled.refresh();
  };
  return (
    <Panel title="Dead tasks by error" side={<Updated at={polled.at} />}>
      <PolledContent polled={polled}>
        {({ groups, counted_all }) => (
          <>
            <Table
              label="Dead tasks by error"
              rows={groups}
              id={({ newest_id }) => newest_id}
              emptyText={dead ? 'No dead task is left to rerun.' : 'No task is dead.'}
              columns={[
                {
                  name: 'Error',
                  show: ({ error }) => <span class="error">{error ?? '(none)'}</span>,
                },
                {
                  name: 'Tasks',
                  number: true,
                  sortKey: (g) => g.tasks,
                  show: (g) => count(g.tasks),
                },
                { name: 'Newest', show: ({ newest_at }) => <Ago at={newest_at} /> },
                { name: 'Example', show: ({ newest_id }) => <TaskLink id={newest_id} /> },
                {
                  name: 'Actions',
                  show: ({ error, tasks }) => (
                    <span class="buttons">
                      <a
                        href={href(['tasks'], { queue, state: 'dead', error: error ?? undefined })}
                      >
                        {error === null ? 'List all dead tasks' : 'List them'}
                        <span class="hidden">: {error}</span>
                      </a>
                      {error !== null && may('enqueue', queue) && (
                        <ConfirmButton
                          label="Redrive"
                          title={`Rerun ${plural(tasks, 'dead task')}?`}
                          buttonLabel="Redrive"
                          onConfirm={() => redrive(error)}
                        >
                          <p class="error">{error}</p>
                        </ConfirmButton>
                      )}
                    </span>
                  ),
                },
              ]}
            />
            {counted_all && groups.length < MOST_GROUPS && (
              <UncountedDead dead={dead} groups={groups} />
            )}
            {!counted_all && <p class="hint">Only the newest 100,000 dead tasks were counted.</p>}
          </>
        )}
      </PolledContent>
    </Panel>
  );
}

function Facts({ values }: { values: Record<string, unknown> }) {
  const settings = Object.entries(values).filter(([name]) => !apart.has(name));
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

function QueueState({ queue, policy }: { queue: string; policy: Policy }) {
  return (
    <dl class="tiles">
      {states.map((state) => (
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

export function Queue({ queue, address }: { queue: string; address: Address }) {
  const path = { queue };
  const polled = usePolling('GET /v1/queues/{queue}', { path });
  const concurrency_keys = usePolling('GET /v1/queues/{queue}/concurrency-keys', { path }, 10_000);
  const leases = usePolling('GET /v1/leases', { query: { queue, limit: 20 } }, 5000);
  const limited = polled.data?.max_running != null || polled.data?.rate_limit != null;
  const limits = usePolling('GET /v1/queues/{queue}/limits', limited ? { path } : null, 5000);
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>{queue}</h1>
        {polled.data?.paused && <State state="paused" />}
        <Updated at={polled.at} />
      </div>
      <Why queue={queue} />
      <PolledContent polled={polled}>
        {(policy) => <QueueState queue={queue} policy={policy} />}
      </PolledContent>
      <Actions queue={queue} polled={polled} />
      <QueueCharts queue={queue} address={address} />
      <DeadGroups queue={queue} dead={polled.data?.dead} />
      <Panel title="Open leases" side={<Updated at={leases.at} />}>
        <PolledContent polled={leases}>
          {({ leases: rows, cursor }) => (
            <>
              <LeaseTable rows={rows} />
              {cursor && <a href={href(['leases'], { queue })}>List all leases</a>}
            </>
          )}
        </PolledContent>
      </Panel>
      {concurrency_keys.data && concurrency_keys.data.concurrency_keys.length > 0 && (
        <Panel title="Concurrency keys" side={<Updated at={concurrency_keys.at} />}>
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
          <Facts values={limits.data} />
        </Panel>
      )}
      {polled.data && (
        <Panel title="Settings">
          <Facts values={polled.data} />
        </Panel>
      )}
    </>
  );
}
