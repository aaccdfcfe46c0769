import type { Chaos } from '../chaos.ts';
import { type Client, call, RETRY_SECONDS, type Transaction } from '../drivers/driver.ts';
import { pause } from '../random.ts';
import { eventOf } from './stepping.ts';

/** Signals the events for which tasks wait: before they wait, meanwhile and again, each time with another payload. */
export function signaller(
  chaos: Chaos,
  transactionOf: (client: Client) => Transaction | undefined,
) {
  const { journal, ledger } = chaos;
  let count = 0;

  async function signal(client: Client, event: string, last = false): Promise<void> {
    const { driver, random } = client;
    const s = ++count;
    const args = { event, payload: { s }, request_id: `signal ${s}`, last };
    const transaction = last ? undefined : transactionOf(client);
    const send = () =>
      transaction
        ? driver.attempt('signal', args, transaction)
        : call(client, 'signal', args, RETRY_SECONDS);
    journal.signalling({ s, event, sent: Date.now() });
    const answer = await send();
    if (!answer && !transaction) ledger.differ('a call was never answered', 0, `signal ${s}`);
    if (answer?.undone) journal.signalled(s, { undone: true });
    if (answer?.status !== 200 || answer.undone) return;
    const { accepted, woken } = answer.body;
    journal.signalled(s, { acknowledged: Date.now(), accepted, woken });
    if (transaction || last || random(6) > 0) return;
    const repeated = await call(client, 'signal', args, RETRY_SECONDS);
    if (repeated?.status === 200 && repeated.body.accepted !== accepted)
      ledger.differ('a repeated signal got another answer', 0, `signal ${s} of ${event}`);
  }

  return {
    async step(client: Client): Promise<void> {
      const { random } = client;
      const next = chaos.reserve(0);
      const range = Math.min(next, random(4) ? 300 : 5000);
      for (let attempt = 0; attempt < 60; attempt++) {
        const n = next - random(range);
        if (journal.requests.get(n)?.queue === 'steps') return signal(client, eventOf(n));
      }
      await pause(200);
    },
    /** Signals each event once more, so that no task waits any longer. */
    async last(client: Client): Promise<void> {
      const tasks = [...journal.requests.values()].filter(({ queue }) => queue === 'steps');
      for (const event of new Set(tasks.map(({ n }) => eventOf(n))))
        await signal(client, event, true);
    },
  };
}
