import { LeaseLost, StepFailed } from '../../../client/errors.ts';
import type { NewStep, SavedStep, StepOutcome } from '../../../client/types.ts';
import type { LeasedTask } from '../../../client/worker/leased_tasks.ts';
import { resultOrSuspended } from '../../../client/worker/run.ts';
import type { Steps } from '../../../client/worker/step_types.ts';
import { createSteps } from '../../../client/worker/steps.ts';
import { type Client, call } from '../drivers/driver.ts';
import type { Args } from '../drivers/spelled.ts';
import type { Verb } from '../drivers/verbs.ts';
import type { Claim, Execution, Run, StepFact } from '../journal.ts';
import { pause, type Random } from '../random.ts';

/** Up to three tasks wait for one event. */
export const eventOf = (n: number) => `steps/${Math.floor(n / 3)}`;
/** The number of the child that a task invokes. A second child of the task would have the same one. */
const childOf = (n: number) => 1e12 + n;
const isInvoke = (step: object) => 'invoke' in step;

export type StepWork = Client & {
  claim: Claim;
  /** The steps that came with the claim, by task. */
  saved: Map<string, SavedStep[]>;
  /** True while the remaining tasks are completed: then nothing is broken on purpose. */
  calm(): boolean;
  /** Records an execution, before it has an effect. */
  executed(execution: Execution): void;
  stepped(fact: StepFact): void;
  /** Records that the run may end, before the call that ends it is sent. */
  suspending(run: Run): void;
  /** Records that a child of this number may be enqueued, before the call that does so is sent. */
  invoking(child: number): void;
  /** Records that an answer has named the child. */
  invoked(child: number): void;
};

/** `gone`: its lease has ended, or no call was answered. */
export type StepEnd = 'done' | 'broken' | 'suspended' | 'cancelled' | 'gone';

class Broken extends Error {}
class Unanswered extends Error {}

/** Waits for a step that may fail for good. */
async function endOf(step: Promise<unknown>): Promise<void> {
  await step.catch((error) => {
    if (!(error instanceof StepFailed)) throw error;
  });
}

/** The handler of a task. What it asks for depends only on the task's number, as in a real handler. */
async function handle(
  { step, sleep, waitFor }: Steps,
  n: number,
  random: Random,
  execute: (name: string) => Promise<string>,
  breaks: () => boolean,
): Promise<void> {
  await step('first', () => execute('first'));
  await Promise.all(['left', 'right'].map((name) => step(name, () => execute(name))));
  if (n % 4 > 0) await sleep('nap', (n % 5) / 5);
  if (breaks()) throw new Broken();
  const often = step(
    'often',
    async () => {
      const value = await execute('often');
      if (random(2)) throw new Error('the step failed');
      return value;
    },
    { max_attempts: 2, backoff_seconds: 0.1 },
  );
  await endOf(often);
  const invoke = () =>
    endOf(step.invoke('child', 'plain', { n: childOf(n), v: 0 }, { max_attempts: 2 }));
  if (n % 3) await invoke();
  await Promise.all([
    waitFor('event', eventOf(n), n % 2 ? {} : { timeout_seconds: (n % 7) / 4 }),
    n % 3 === 0 && invoke(),
  ]);
  await step('last', () => execute('last'));
}

/** Runs the handler of a task in the client's own steps, over the driver of the load. */
export async function stepThrough(work: StepWork, run: Run): Promise<StepEnd> {
  const { claim, random } = work;
  const { lease } = claim;
  const ids = { task: run.id, run: run.run };
  const abort = new AbortController();
  let previous: Promise<unknown> = Promise.resolve();

  /** Sends one call at a time, because a connection has one statement at a time. */
  async function send<T>(verb: Verb, args: Args): Promise<T[]> {
    const sending = previous.then(() => call(work, verb, args, 20));
    previous = sending;
    const answer = await sending;
    if (answer?.status === 200) return answer.body.steps;
    throw answer?.status === 409 ? new LeaseLost(409, {}) : new Unanswered(verb);
  }

  function record(step: StepOutcome | SavedStep, event: string | null | undefined, sent?: number) {
    const { name, state, result = null, due_at } = step;
    const answered = Date.now();
    const child = name === 'child' ? childOf(run.n) : undefined;
    if (child) work.invoked(child);
    work.stepped({
      ...ids,
      name,
      sent: sent ?? answered,
      answered,
      state,
      result,
      ...(due_at && { due: new Date(due_at).getTime() }),
      ...(event && { event }),
      ...(child && { child }),
      read: sent === undefined,
    });
  }

  const leased: LeasedTask = {
    task: {} as LeasedTask['task'],
    lease,
    abort,
    started: true,
    ended: false,
    version: 1,
    eventUrl: () => Promise.reject(new Error('the load makes no links')),
    progress() {},
    end() {},
    async saveSteps(steps: Omit<NewStep, 'id'>[]) {
      // The lease expires first, and another worker may have the task.
      if (!work.calm() && random(25) === 0)
        await pause(Math.max(0, claim.until - Date.now()) + random(1000));
      if (steps.some((step) => !('result' in step))) work.suspending(run);
      if (steps.some(isInvoke)) work.invoking(childOf(run.n));
      const sent = Date.now();
      const rows = steps.map((step) => ({ id: run.id, ...step }));
      const outcomes = await send<StepOutcome>('save steps', { lease, steps: rows });
      for (const [n, outcome] of outcomes.entries())
        if (outcome.state !== 'lost') record(outcome, steps[n]?.event, sent);
      return outcomes;
    },
    async savedSteps() {
      const saved =
        work.saved.get(run.id) ??
        (run.run === run.id ? [] : await send<SavedStep>('read steps', { lease, id: run.id }));
      for (const step of saved) record(step, step.event);
      return saved;
    },
  };

  async function execute(name: string): Promise<string> {
    work.executed({ ...ids, name, since: claim.sent, at: Date.now() });
    if (random(6) === 0) await pause(random(100));
    return `${name} ${run.run} ${random(1e9)}`;
  }

  const steps = createSteps(leased);
  const breaks = () => !work.calm() && random(15) === 0;
  const handler = () => handle(steps.steps, run.n, random, execute, breaks);
  try {
    return 'outcome' in (await resultOrSuspended(handler, steps)) ? 'suspended' : 'done';
  } catch (error) {
    if (error instanceof Broken) return 'broken';
    if (error instanceof LeaseLost || error instanceof Unanswered) return 'gone';
    if (abort.signal.aborted) return 'cancelled';
    throw error;
  }
}
