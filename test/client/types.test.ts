import type { z } from '@hono/zod-openapi';
import { expect, expectTypeOf, test } from 'vitest';
import type {
  Archived,
  Claimed,
  Filter,
  Found,
  LeasedTasks,
  NewTask,
  Progress,
  Reason,
  Result,
  Running,
  Spawn,
  Task,
  TaskOptions,
  Tock,
} from '../../client/index.ts';
import { createApp } from '../../functions/http/app.ts';
import type { task } from '../../functions/routes/tasks.ts';

type Queues = { email: { to: string }; resize: { url: string; width: number } };

// Checked by tsc: each line below an expect-error must be one.
async function typed(tock: Tock<Queues>): Promise<void> {
  await tock.enqueue('email', { to: 'ann' }, { delay_seconds: 5 });
  // @ts-expect-error there is no such queue
  await tock.enqueue('mail', { to: 'ann' });
  // @ts-expect-error that is another queue's payload
  await tock.enqueue('email', { url: 'u', width: 1 });
  // @ts-expect-error there is no such option
  await tock.enqueue('email', { to: 'ann' }, { delay: 5 });
  // @ts-expect-error a task has a payload
  await tock.enqueueMany('resize', [{ priority: 1 }]);
  const lease = await tock.claim('resize');
  expectTypeOf(lease?.tasks[0]?.payload).toEqualTypeOf<Queues['resize'] | undefined>();
  await tock.work('email', (one, { signal, progress }) => {
    expectTypeOf(one).toEqualTypeOf<Claimed<{ to: string }>>();
    expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
    progress(10, 'begun');
  });
  await tock.work({
    resize: ({ payload }) => payload.width,
    // @ts-expect-error that is another queue's payload
    email: ({ payload }) => payload.width,
  });
  // @ts-expect-error there is no such queue
  await tock.work({ mail: () => {} });
}

test('payloads are typed by their queues', () => {
  expect(typed).toBeTypeOf('function');
});

type Filled<T> = { [K in keyof T]-?: NonNullable<T[K]> };
type Asked = z.input<typeof task>;

test('what a task can ask for is what the server takes', () => {
  expectTypeOf<keyof TaskOptions | 'payload'>().toEqualTypeOf<keyof Asked>();
  expectTypeOf<Filled<TaskOptions>>().toExtend<Filled<Omit<Asked, 'payload'>>>();
  expectTypeOf<Filled<Omit<Asked, 'payload'>>>().toExtend<Filled<TaskOptions>>();
  expectTypeOf<NewTask>().toExtend<Asked>();
});

type Schema = { properties?: Record<string, Schema>; items?: Schema; $ref?: string };

/** What the server says of itself. */
async function openapi() {
  const app = createApp(async () => {
    throw new Error('no database');
  });
  return (await app.request('/openapi.json')).json();
}

async function answerOf(method: string, path: string, status = '200'): Promise<Schema> {
  const document = await openapi();
  return document.paths[path][method].responses[status].content['application/json'].schema;
}

async function takenBy(path: string): Promise<string[]> {
  const { parameters } = (await openapi()).paths[path].get;
  return parameters.map(({ name }: { name: string }) => name).sort();
}

/** Compares names that are written out here, and so checked by tsc, with those of the document. */
const names = <T>(all: { [K in keyof Required<T>]: true }) => Object.keys(all).sort();
const namesOf = (schema: Schema | undefined) => Object.keys(schema?.properties ?? {}).sort();

test('tasks and claims have the columns that the server gives', async () => {
  const task = await answerOf('get', '/v1/tasks/{id}');
  expect(namesOf(task)).toEqual(
    names<Task>({
      id: true,
      queue: true,
      state: true,
      priority: true,
      tenant: true,
      attempt: true,
      max_attempts: true,
      lost: true,
      created_at: true,
      run_at: true,
      ended_at: true,
      payload: true,
      result: true,
      error: true,
      options: true,
      progress: true,
      note: true,
      runs: true,
      rerun_of: true,
      reruns: true,
    }),
  );
  const { leases } = (await answerOf('post', '/v1/claim')).properties ?? {};
  const lease = names<LeasedTasks>({ queue: true, lease: true, leased_until: true, tasks: true });
  expect(namesOf(leases?.items)).toEqual(lease);
  const claimed = names<Omit<Claimed, 'queue'>>({
    id: true,
    run_id: true,
    attempt: true,
    max_attempts: true,
    priority: true,
    tenant: true,
    created_at: true,
    payload: true,
    headers: true,
    push_url: true,
  });
  expect(namesOf(leases?.items?.properties?.tasks?.items)).toEqual(claimed);
});

test('what is looked for and found has the names that the server gives', async () => {
  const found = names<Found['tasks'][0]>({
    id: true,
    run_id: true,
    queue: true,
    state: true,
    priority: true,
    tenant: true,
    attempt: true,
    created_at: true,
    run_at: true,
    ended_at: true,
    worker: true,
    error: true,
  });
  const asked = { queue: true, state: true, tenant: true, from: true, to: true } as const;
  const page = { cursor: true, limit: true } as const;
  const also = { error: true, worker: true, unique_key: true } as const;
  const archived = names<Archived>({ ...asked, ...page, ...also });
  const listed = names<Filter>({ ...asked, ...page, ...also, gate: true, rerun: true });
  for (const [path, takes, gives] of [
    ['/v1/archive/tasks', archived, found],
    ['/v1/tasks', listed, [...found, 'rerun'].toSorted()],
  ] as const) {
    expect(namesOf((await answerOf('get', path)).properties?.tasks?.items)).toEqual(gives);
    expect(await takenBy(path)).toEqual(takes);
  }
  const { leases } = (await answerOf('get', '/v1/leases')).properties ?? {};
  expect(namesOf(leases?.items)).toEqual(
    names<Running>({
      queue: true,
      worker: true,
      claimed_at: true,
      leased_until: true,
      late: true,
      runs: true,
      unfinished: true,
      tasks: true,
    }),
  );
  const { reasons } = (await answerOf('get', '/v1/queues/{queue}/why')).properties ?? {};
  const reason = names<Reason>({ finding: true, severity: true, detail: true, hint: true });
  expect(namesOf(reasons?.items)).toEqual(reason);
});

test('what a worker may say of a task is what the server takes', async () => {
  const document = await openapi();
  const body = (verb: string): Schema =>
    document.paths[`/v1/leases/{lease}/${verb}`].post.requestBody.content['application/json']
      .schema;
  const result = body('complete').properties?.results?.items;
  expect(namesOf(result)).toEqual(
    names<Result>({ id: true, result: true, stage: true, spawn: true }),
  );
  expect(namesOf(result?.properties?.spawn)).toEqual(
    names<Spawn>({ queue: true, tasks: true, wait: true, on_failure: true }),
  );
  expect(JSON.stringify(body('extend'))).toContain('"progress"');
  expectTypeOf<keyof Progress>().toEqualTypeOf<'progress' | 'note'>();
});
