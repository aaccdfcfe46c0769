import { useState } from 'preact/hooks';
import { Further, PolledContent } from '../components/panel.tsx';
import { LeaseTable } from '../components/tables.tsx';
import { Updated } from '../components/times.tsx';
import { usePolling } from '../polling.ts';
import type { Address } from '../route.ts';

export function Leases({ address }: { address: Address }) {
  const [after, setAfter] = useState<string | undefined>();
  const queue = address.query.get('queue') || undefined;
  const polled = usePolling('GET /v1/leases', { query: { queue, cursor: after, limit: 50 } }, 5000);
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Leases{queue && ` of ${queue}`}</h1>
        <Updated at={polled.at} />
      </div>
      <p class="lead">Open leases with their workers and tasks, earliest end first.</p>
      <section class="panel" aria-label="Leases">
        <PolledContent polled={polled}>
          {({ leases, cursor }) => (
            <>
              <LeaseTable rows={leases} queues />
              <Further after={after} next={cursor} goTo={setAfter} />
            </>
          )}
        </PolledContent>
      </section>
    </>
  );
}
