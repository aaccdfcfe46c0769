import { expect, test } from 'vitest';
import { begun, save, signal } from '../../features/steps/steps.ts';
import { client, databasePerTest } from '../../test_database.ts';
import { value } from '../../verbs.ts';

databasePerTest();

/** The metrics of steps and events, with what this session has just done. */
async function metrics(): Promise<Record<string, number>> {
  await client.query('select pg_stat_force_next_flush()');
  const text = await value<string>(client, 'select tock.metrics()');
  const samples = text.matchAll(/^(tock_steps|tock_events?_\w+) (\d+)$/gm);
  return Object.fromEntries([...samples].map(([, name, n]) => [name, Number(n)]));
}

test('the metrics have the waits for events, the signalled events and the saved steps', async () => {
  const run = await begun();
  await save(run, { name: 'charge', result: 42 });
  await save(run, { name: 'approval', event: 'e' });
  await signal('other');
  await signal('other');
  await expect
    .poll(metrics)
    .toEqual({ tock_event_waits: 1, tock_events_signalled_total: 1, tock_steps: 2 });
  await signal('e');
  await expect
    .poll(metrics)
    .toEqual({ tock_event_waits: 0, tock_events_signalled_total: 2, tock_steps: 3 });
});
