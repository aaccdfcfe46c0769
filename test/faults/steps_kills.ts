import { join } from 'node:path';
import type pg from 'pg';
import { expect } from 'vitest';
import { startChild } from '../../scripts/child.ts';
import { claim, complete, enqueue, rows, task, value } from '../sql/verbs.ts';
import type { MortalWorker, Place, Scenario } from './boundaries.ts';
import { CHILDREN, eventOf, linkedEventOf, QUEUE, tokenOf } from './steps_flow.ts';
import type { FlowWorker } from './steps_worker.ts';

/** The table of the effects that are in one transaction with a step or a completion. */
export async function createEffects(owner: pg.Client): Promise<void> {
  await owner.query(`create table public.effects (
    n integer generated always as identity, task bigint not null, name text not null)`);
  await owner.query('grant select, insert on public.effects to tock_edge');
}

/** Makes what sleeps, or is to be tried again, due. */
async function wake({ owner }: Place): Promise<void> {
  for (const table of ['waiting', 'steps'])
    await owner.query(
      `update tock.${table} set due_at = now() - interval '1 s' where due_at < 'infinity'`,
    );
  await owner.query('select tock.promote(p_sweep => true)');
}

type Saved = { name: string; kind: string; state: string; result: unknown; failures: number };

/** The steps with an effect at the listener. */
const steps = ['look', 'charge', 'pack', 'label', 'ship'];

/** The flow as a task. `exactlyOnce`: a step and the completion are in one transaction with an effect. */
export function flowScenario(place: Place, exactlyOnce: boolean): Scenario {
  const { owner, ledger } = place;
  const savedSteps = (id: string) =>
    rows<Saved>(owner, 'select * from tock.task_steps(p_id => $1)', [id]);
  /** The saved URL, which task_steps() does not show. */
  const linkOf = (id: string) =>
    value<string>(
      owner,
      "select result #>> '{}' from tock.steps where task_id = $1 and kind = 'link'",
      [id],
    );
  /** The length of the ledger when the task was woken from its sleep. */
  let awake_at: number | undefined;
  let children: string[] = [];

  async function endChildren(): Promise<void> {
    for (const { lease, id } of await claim(owner, CHILDREN, { limit: 9 })) {
      children.push(id);
      await complete(owner, lease, [{ id, result: { child: id } }]);
    }
    await owner.query('select tock.promote(p_sweep => true)');
  }

  return {
    async begin() {
      awake_at = undefined;
      children = [];
      // One attempt, so a sleep, a wait, a step's own retry or a death that counts as an attempt makes it dead.
      const [id = ''] = await enqueue(owner, QUEUE, [{ max_attempts: 1 }]);
      return id;
    },
    async between(worker, id) {
      const waiting = (await savedSteps(id)).filter(({ state }) => state === 'waiting');
      if (waiting.some(({ kind }) => kind === 'event')) return worker.signal(id, await linkOf(id));
      if (waiting.some(({ kind }) => kind === 'child')) return endChildren();
      if (waiting.length > 0) awake_at ??= ledger.length;
      return wake(place);
    },
    async check(id, end) {
      const saved = new Map((await savedSteps(id)).map((step) => [step.name, step]));
      const ended = await task(owner, id);
      const link = await linkOf(id);
      const { nap, ...results }: Record<string, unknown> = {
        ...Object.fromEntries([...saved].map(([name, { result }]) => [name, result])),
        link,
      };
      expect(nap).toBe(null);
      expect(ended?.result).toEqual(results);
      const payloads = 'select payload from tock.events where event = any ($1) order by event';
      const events = [eventOf(id), linkedEventOf(id)];
      expect(await rows(owner, payloads, [events])).toEqual([
        { payload: results.approval },
        { payload: results.linked },
      ]);
      const used = `select token_hash = sha256($2::bytea) as saved from tock.event_links
        where event = $1 and used_at is not null`;
      expect(await rows(owner, used, [linkedEventOf(id), tokenOf(link)])).toEqual([
        { saved: true },
      ]);
      await endChildren();
      expect(children.map((child) => ({ child }))).toEqual([results.child]);
      expect(ended).toMatchObject({ attempt: 1 + (ended?.lost ?? 0) });
      expect(ended?.lost).toBeLessThanOrEqual(1);
      const executions = ledger.slice(0, end).filter((execution) => execution.id === id);
      for (const name of steps) {
        const numbers = executions.flatMap((other) => (other.name === name ? [other.n] : []));
        // The last execution is the one that was saved, so none came after the checkpoint.
        expect(saved.get(name), name).toMatchObject({ state: 'done', result: numbers.at(-1) });
      }
      // A death repeats the two steps that run at once, or that are saved together, or one.
      expect(executions.length).toBeLessThanOrEqual(steps.length + 1 + 2);
      expect(executions.find(({ name }) => name === 'pack')?.n).toBeGreaterThanOrEqual(
        awake_at ?? Number.POSITIVE_INFINITY,
      );
      // Each run has got the same from the steps before.
      for (const { name, got } of executions)
        if (name === 'ship') expect({ ...got, ship: results.ship }).toEqual(results);
      const effects = await rows(
        owner,
        'select name, n from public.effects where task = $1 order by n',
        [id],
      );
      expect(effects).toMatchObject(exactlyOnce ? [{ name: 'invoice' }, { name: 'last' }] : []);
      if (exactlyOnce) expect(results.invoice).toEqual([{ n: effects[0]?.n }]);
    },
  };
}

/** A worker in a process of its own, which kill() ends with SIGKILL. */
function childWorker(kind: 'http' | 'sql', env: Record<string, string>): MortalWorker {
  let idle = () => {};
  const script = join(import.meta.dirname, 'steps_worker.ts');
  const child = startChild([script, kind], env, () => idle());
  const command = (line: string) =>
    Promise.race([
      child.ended,
      new Promise<void>((resolve) => {
        idle = resolve;
        child.writeLine(line);
      }),
    ]);
  return {
    work: () => command('work'),
    signal: (id, link) => command(`signal ${id} ${link}`),
    async kill() {
      child.kill('SIGKILL');
      await child.ended;
    },
    stop: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
  };
}

/** Workers in processes. Each is started while the one before it works, because a start takes as long as a run. */
export function childWorkers(kind: 'http' | 'sql', env: Record<string, string>) {
  let next = childWorker(kind, env);
  return {
    async start(): Promise<MortalWorker> {
      const worker = next;
      next = childWorker(kind, env);
      return worker;
    },
    end: () => next.kill(),
  };
}

/** A worker in this process, which nothing kills. */
export const immortal = (worker: FlowWorker): MortalWorker => ({ ...worker, kill: async () => {} });
