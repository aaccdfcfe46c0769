import { Activity } from '../components/activity.tsx';
import { ConcurrencyKeyTable } from '../components/concurrency_key_table.tsx';
import { DeadGroups } from '../components/dead_groups.tsx';
import { Findings } from '../components/findings.tsx';
import { LeaseTable } from '../components/lease_table.tsx';
import { Panel, PolledContent } from '../components/panel.tsx';
import { QueueActions } from '../components/queue_actions.tsx';
import { QueueLimits } from '../components/queue_limits.tsx';
import { QueueSettings } from '../components/queue_settings.tsx';
import { QueueTasks } from '../components/queue_tasks.tsx';
import { State } from '../components/state.tsx';
import { Updated } from '../components/times.tsx';
import { goToSection } from '../focus.ts';
import { count } from '../format.ts';
import { usePolling } from '../polling.ts';
import { type Address, href } from '../route.ts';

function Why({ queue }: { queue: string }) {
  const polled = usePolling('GET /v1/queues/{queue}/why', { path: { queue } }, 5000);
  if (polled.error?.status === 403) return null;
  const reasons = polled.data?.reasons;
  return (
    <section class="panel" aria-label="Why tasks are late">
      <header>
        <h2>{reasons?.length === 0 ? '✓ Nothing delays this queue' : 'Why tasks are late'}</h2>
        <Updated at={polled.at} />
      </header>
      <PolledContent polled={polled}>
        {({ reasons }) => reasons.length > 0 && <Findings findings={reasons} queue={queue} />}
      </PolledContent>
    </section>
  );
}

const sections = [
  'Tasks',
  'Activity',
  'Dead tasks by error',
  'Open leases',
  'Concurrency keys',
  'Limits',
  'Settings',
];

export function Queue({ queue, address }: { queue: string; address: Address }) {
  const path = { queue };
  const polled = usePolling('GET /v1/queues/{queue}', { path }, 5000);
  const concurrency_keys = usePolling('GET /v1/queues/{queue}/concurrency-keys', { path }, 10_000);
  const ended = usePolling('GET /v1/queues/{queue}/ended', { path }, 30_000);
  const leases = usePolling('GET /v1/leases', { query: { queue, limit: 20 } }, 5000);
  const limited = polled.data?.max_running != null || polled.data?.rate_limit != null;
  const hasKeys = (concurrency_keys.data?.concurrency_keys.length ?? 0) > 0;
  const limits = usePolling('GET /v1/queues/{queue}/limits', limited ? { path } : null, 5000);
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>{queue}</h1>
        {polled.data?.paused && <State state="paused" />}
        <Updated at={polled.at} />
      </div>
      <nav class="sections" aria-label="On this page">
        {sections
          .filter((name) => name !== 'Limits' || limited)
          .filter((name) => name !== 'Concurrency keys' || hasKeys)
          .map((name) => (
            <button key={name} type="button" class="quiet" onClick={() => goToSection(name)}>
              {name}
            </button>
          ))}
      </nav>
      <Why queue={queue} />
      {polled.data && <QueueActions queue={queue} policy={polled.data} />}
      <PolledContent polled={polled}>
        {(policy) => (
          <QueueTasks
            queue={queue}
            counts={policy}
            ended={ended.data?.states ?? []}
            limits={limits.data}
            address={address}
          />
        )}
      </PolledContent>
      <Activity queue={queue} address={address} />
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
      {concurrency_keys.data && hasKeys && (
        <Panel title="Concurrency keys" side={<Updated at={concurrency_keys.at} />}>
          <ConcurrencyKeyTable
            queue={queue}
            rows={concurrency_keys.data.concurrency_keys.slice(0, 100)}
          />
          {concurrency_keys.data.concurrency_keys.length > 100 && (
            <p class="hint">
              100 of {count(concurrency_keys.data.concurrency_keys.length)} are shown.
            </p>
          )}
        </Panel>
      )}
      {limited && <QueueLimits queue={queue} limits={limits} />}
      {polled.data && (
        <QueueSettings queue={queue} policy={polled.data} edited={address.query.get('setting')} />
      )}
    </>
  );
}
