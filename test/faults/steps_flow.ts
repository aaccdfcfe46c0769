import type { Steps } from '../../client/worker/step_types.ts';

export const QUEUE = 'flow';
/** The queue of the child that the flow invokes. */
export const CHILDREN = 'flow-children';
export const eventOf = (id: string) => `${QUEUE}/${id}`;
/** The event that is signalled by a link. */
export const linkedEventOf = (id: string) => `${eventOf(id)}/linked`;
/** The address of an API that no flow calls. */
export const API = 'http://tock.test';
export const tokenOf = (link: string) => link.slice(link.lastIndexOf('/') + 1);

/** The effect of a step, in one transaction with its checkpoint. */
export const STEP_EFFECT =
  "insert into public.effects (task, name) values ($1, 'invoice') returning n";
/** The last effect of the flow, in one transaction with the completion. */
export const LAST_EFFECT = "insert into public.effects (task, name) values ($1, 'last')";

/** The answer of the listener: the number of the execution in its ledger, and whether the step then fails. */
export type Effect = { n: number; fails: boolean };

/** The steps of a driver. `invoice` is a step with STEP_EFFECT, where the driver has such steps. */
export type FlowSteps = Steps & { invoice?(): Promise<unknown> };

/** A handler with a step of each kind, whose functions have their effects at a listener. */
export function flow(listener: unknown) {
  return async ({ id }: { id: string }, { step, sleep, waitFor, invoice }: FlowSteps) => {
    /** `got` is what the run has got from its steps so far. */
    async function effect(name: string, got: object = {}): Promise<number> {
      const request = { method: 'POST', body: JSON.stringify(got) };
      const answer = await fetch(`${listener}/${name}/${id}`, request);
      const { n, fails } = (await answer.json()) as Effect;
      if (fails) throw new Error(`${name} fails`);
      return n;
    }
    const look = await step('look', () => effect('look'), { later: true });
    const charge = await step('charge', () => effect('charge'));
    const stored = await invoice?.();
    await sleep('nap', { hours: 1 });
    const [pack, label] = await Promise.all(
      ['pack', 'label'].map((name) => step(name, () => effect(name))),
    );
    const link = await waitFor.url('link', linkedEventOf(id));
    const [approval, linked, child] = await Promise.all([
      waitFor('approval', eventOf(id)),
      waitFor('linked', linkedEventOf(id)),
      step.invoke('child', CHILDREN, id),
    ]);
    const got = { look, charge, invoice: stored, pack, label, link, approval, linked, child };
    const retries = { max_attempts: 9, backoff_seconds: 3600 };
    const ship = await step('ship', () => effect('ship', got), retries);
    return { ...got, ship };
  };
}
