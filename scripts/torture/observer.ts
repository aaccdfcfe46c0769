import type pg from 'pg';
import { pause } from '../soak/clock.ts';
import type { Ledger } from './ledger.ts';
import { gates, queues } from './queues.ts';
import type { Torture } from './torture.ts';

/** As one snapshot shows it: how many runs of each gate are under way. */
const inside = `
  select r.options ->> 'gate' as gate, count(*)::integer as running
  from tock.leases l
  join tock.streams s on s.number = l.stream and s.queue = '${queues.gated}'
  join tock.runs r on r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
  where l.closed_at is null and r.position <> all (coalesce(l.skips, '{}'))
    and not exists (select from tock.results e where e.stream = r.stream and e.position = r.position)
  group by 1`;

const depth =
  'select coalesce(sum(ready + running + waiting), 0)::integer as unfinished from tock.queue_stats()';

export async function lookAtGates(ledger: Ledger, on: pg.Client): Promise<void> {
  for (const { gate, running } of (await on.query(inside)).rows) {
    const most = gates[gate] ?? 0;
    if (running > most) ledger.differ('a gate is overshot', gate, `${running}, not ${most}`);
  }
}

/** Looks at gates all the time, and counts what is unfinished. */
export async function observe(torture: Torture): Promise<void> {
  const { stack, ledger } = torture;
  let on: pg.Client | null = null;
  while (torture.going) {
    try {
      on ??= await stack.connect();
      await lookAtGates(ledger, on);
      torture.unfinished = (await on.query(depth)).rows[0].unfinished;
      ledger.count('looks at gates');
    } catch {
      void on?.end().catch(() => {});
      on = null;
    }
    await pause(200);
  }
  await on?.end().catch(() => {});
}
