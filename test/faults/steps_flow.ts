import type { Steps } from '../../client/worker/step_types.ts';

export const QUEUE = 'flow';
export const eventOf = (id: string) => `${QUEUE}/${id}`;

/** The last effect of the flow, in one transaction with the completion. */
export const LAST_EFFECT = 'insert into public.effects (task) values ($1)';

/** The answer of the listener: the number of the execution in its ledger, and whether the step then fails. */
export type Effect = { n: number; fails: boolean };

/** A handler with a step of each kind, whose functions have their effects at a listener. */
export function flow(listener: unknown) {
  return async ({ id }: { id: string }, { step, sleep, waitFor }: Steps) => {
    async function effect(name: string): Promise<number> {
      const { n, fails } = (await (await fetch(`${listener}/${name}/${id}`)).json()) as Effect;
      if (fails) throw new Error(`${name} fails`);
      return n;
    }
    const charge = await step('charge', () => effect('charge'));
    await sleep('nap', { hours: 1 });
    const [pack, label] = await Promise.all(
      ['pack', 'label'].map((name) => step(name, () => effect(name))),
    );
    const approval = await waitFor('approval', eventOf(id));
    const retries = { max_attempts: 9, backoff_seconds: 3600 };
    const ship = await step('ship', () => effect('ship'), retries);
    return { charge, pack, label, approval, ship };
  };
}
