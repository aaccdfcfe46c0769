import { expect } from 'vitest';
import { type Handler, RetryIn, StepFailed } from '../../client/index.ts';
import { type Scenario, shown, some } from './shown.ts';

/** Durable steps, in the in-memory client and in the database. */
export const stepScenarios: Record<string, Scenario> = {
  async 'a flow does each step once, over sleeps, waits and failures'({ tock, advance }, q) {
    const ran: string[] = [];
    let fails = true;
    const flow: Handler = async (task, { step, sleep, waitFor }) => {
      const note = (name: string) => step(name, () => ran.push(name));
      const first = await note('first');
      await sleep('nap', { minutes: 1 });
      const both = await Promise.all([note('both'), note('both')]);
      if (fails) {
        fails = false;
        // Details stand in place of the stack, which differs.
        throw Object.assign(new RetryIn(0), { details: {} });
      }
      const approval = await waitFor('approval', `${q}/approved`);
      const late = await waitFor('late', `${q}/never`, { timeout_seconds: 60 });
      const pay = async () => {
        if (ran.push('pay') % 2 === 1) throw new Error('no');
        return 'paid';
      };
      const paid = await step('pay', pay, { max_attempts: 3, backoff_seconds: 10 });
      const refused = await step('refused', () => Promise.reject(new Error('never')), {
        max_attempts: 1,
      }).catch((error) => [error instanceof StepFailed, error.message]);
      return { first, both, approval, late, paid, refused, attempt: task.attempt };
    };
    const id = await tock.enqueue(q, 1, { max_attempts: 2 });
    const shownSteps = async () =>
      (await tock.steps(id))?.map((step) => some(step, 'name kind state result event failures'));
    const seen: unknown[] = [];
    for (const pass of ['sleeps', 'waits', 'waits for the second', 'retries', 'ends']) {
      await tock.work(q, flow, { until: 'empty' });
      seen.push(pass, [...ran], (await shown(tock, id))?.runs.length, await shownSteps());
      if (pass === 'waits') {
        const signals = [await tock.signal(`${q}/approved`, { by: 'ann' })];
        signals.push(await tock.signal(`${q}/approved`, 'too late'));
        seen.push(signals);
      } else await advance(61);
    }
    return [seen, await shown(tock, id)];
  },

  async 'a flow invokes children, is approved by a link, and is forked'({ tock, advance }, q) {
    const ran: string[] = [];
    const urls = new Set<string>();
    let pass = 0;
    const flow: Handler = async (_task, { step, waitFor, version }) => {
      await step('quick', () => ran.push('quick'), { later: true });
      if (pass === 1) await step('old', () => ran.push('old'), { later: true });
      urls.add(await waitFor.url('link', `${q}/approved`));
      const approval = await waitFor('approval', `${q}/approved`);
      const children = await Promise.all([
        step.invoke('child', `${q}-child`, 1),
        step.invoke('child', `${q}-child`, 2, { max_attempts: 1 }).catch(({ name }) => name),
      ]);
      const late = await waitFor('late', `${q}/never`, {
        timeout_seconds: 60,
        on_timeout: 'throw',
      }).catch(({ name }) => name);
      return { approval, children, late, version: await version() };
    };
    const child: Handler = async ({ payload }) => {
      ran.push(`child ${payload}`);
      if (payload === 2) throw new Error('no');
      return payload;
    };
    const id = await tock.enqueue(q, 1);
    const shownSteps = async (task: string) =>
      (await tock.steps(task))?.map((step) =>
        some(step, 'name kind state result version unused failures'),
      );
    const passes: unknown[] = [];
    const work = async () => {
      pass++;
      await tock.work({ [q]: flow, [`${q}-child`]: child }, { until: 'empty', version: pass });
      passes.push([...ran], (await tock.task(id))?.state);
    };
    await work();
    const [url = ''] = urls;
    const link = new URL(url).pathname;
    const posts: unknown[] = [await tock.call('POST', link, { by: 'ann' })];
    posts.push(await tock.call('POST', link, {}).catch(({ status }) => status));
    posts.push(await tock.call('POST', `${link}0`, {}).catch(({ status }) => status));
    await work();
    await advance(61);
    await work();
    const steps = (await shownSteps(id))?.filter(({ name }) => name !== 'link');
    const end = await shown(tock, id);
    const [again] = await tock.rerun([id], { from_step: 'child' });
    await work();
    const forked = await shownSteps(again?.rerun_id ?? '');
    return {
      passes,
      urls: urls.size,
      posts,
      steps,
      end: some(end ?? {}, 'state attempt result'),
      forked: forked?.filter(({ name }) => name !== 'link'),
    };
  },

  async 'steps left for later are saved before a failure is told, and run again after a lost lease'(
    { tock, advance },
    q,
  ) {
    const ran: string[] = [];
    let attempts = 0;
    const flow: Handler = async (_task, { step }) => {
      attempts++;
      const note = (name: string, later: boolean) => step(name, () => ran.push(name), { later });
      for (const name of ['a', 'b']) await note(name, true);
      if (attempts === 1) throw Object.assign(new RetryIn(0), { details: {} });
      await note('c', true);
      if (attempts === 2) await advance(61);
      await note('d', false);
    };
    const id = await tock.enqueue(q, 1);
    for (const attempt of [1, 2, 3]) {
      await tock.work(q, flow, { until: 'empty' });
      await advance(attempt);
    }
    expect(ran).toEqual(['a', 'b', 'c', 'd', 'c', 'd']);
    return some((await shown(tock, id)) ?? {}, 'state attempt lost');
  },

  async 'a worker continues only tasks of the versions that it knows'({ tock, advance }, q) {
    const ran: string[] = [];
    const handler =
      (name: string): Handler =>
      async (_task, { step, waitFor }) => {
        ran.push(name);
        await step('begin', () => name);
        return waitFor('go', `${q}/go`);
      };
    const work = (version: number, versions: number[]) =>
      tock.work(q, handler(`version ${version}`), { until: 'empty', version, versions });
    await expect(work(2, [1])).rejects.toThrow("versions must include the worker's own version, 2");
    const id = await tock.enqueue(q, 1, { max_attempts: 1 });
    await work(2, [1, 2]);
    await tock.signal(`${q}/go`, 'went');
    const released: number[] = [];
    for (const seconds of [10, 20, 40]) {
      released.push((await work(1, [1])).released);
      released.push((await work(3, [3])).released);
      await advance(seconds - 1);
      released.push((await work(1, [1])).released);
      await advance(2);
    }
    const steps = (await tock.steps(id))?.map((step) => some(step, 'name kind state version'));
    await work(3, [1, 2, 3]);
    expect((await tock.steps(id))?.filter(({ unused }) => unused)).toEqual([]);
    expect(ran).toEqual(['version 2', 'version 3']);
    expect(released).toEqual([1, 0, 0, 1, 0, 0, 1, 0, 0]);
    return [steps, await shown(tock, id)];
  },

  async 'steps that are too large for a claim are read when the handler asks'(
    { tock, advance },
    q,
  ) {
    const ran: string[] = [];
    const flow: Handler = async (_task, { step, sleep }) => {
      const note = (name: string) => {
        ran.push(name);
        return 'x'.repeat(200_000);
      };
      for (const name of ['a', 'b', 'c']) await step(name, () => note(name));
      await sleep('nap', 60);
      await step('end', () => note('end'));
    };
    const work = () => tock.work(q, flow, { until: 'empty' });
    const id = await tock.enqueue(q, 1);
    await work();
    await advance(61);
    await work();
    await tock.rerun([id], { from_step: 'end' });
    await work();
    expect(ran).toEqual(['a', 'b', 'c', 'end', 'end']);
    return some((await shown(tock, id)) ?? {}, 'state attempt');
  },
};
