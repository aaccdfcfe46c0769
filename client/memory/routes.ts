import type { ClaimAnswer, ClaimOptions, NewTask } from '../types.ts';
import { noTask, Refused } from './problem.ts';
import type { Store, Stored, StoredLease } from './store.ts';
import { leaseVerbs } from './verbs.ts';

// biome-ignore lint/suspicious/noExplicitAny: JSON of the client's own
type Body = any;
type Route = (names: string[], body: Body) => unknown;

const ended = ['done', 'dead', 'cancelled'];

/** The routes of the HTTP door that the in-memory Tock has, each by its method and path. */
export function routesOf(store: Store): [route: RegExp, answer: Route][] {
  const verbs = leaseVerbs(store);
  /** Answers by request id. */
  const answers = new Map<string, unknown>();

  function once<T>(verb: string, request_id: string | undefined, make: () => T): T {
    const name = `${verb} ${request_id}`;
    if (request_id !== undefined && answers.has(name)) return answers.get(name) as T;
    const made = make();
    answers.set(name, made);
    return made;
  }

  const tasksOf = (lease: StoredLease) =>
    [...lease.runs.values()].map(({ task, run }) => {
      const { id, max_attempts, priority, tenant, created_at, payload, headers } = task;
      const { attempt } = run;
      const beside = { tenant, created_at, payload, headers, push_url: null };
      return { id, run_id: run.id, attempt, max_attempts, priority, ...beside };
    });

  function claimed(queues: string[], options: ClaimOptions): ClaimAnswer {
    let left = options.limit ?? 1;
    const leases = [];
    for (const queue of queues) {
      const lease = left > 0 ? store.claim(queue, { ...options, limit: left }) : null;
      if (!lease) continue;
      left -= lease.runs.size;
      const leased_until = store.instant(lease.until);
      leases.push({ queue, lease: lease.lease, leased_until, tasks: tasksOf(lease) as never });
    }
    const state =
      leases.length > 0 ? 'found' : queues.every((q) => store.paused.has(q)) ? 'paused' : 'empty';
    return { leases, state, retry_after_seconds: leases.length > 0 ? 0 : 1 };
  }

  function claimOne([queue = '']: string[], body: Body) {
    const { leases, ...said } = claimed([queue], body);
    const { lease = null, leased_until = null, tasks = [] } = leases[0] ?? {};
    return { lease, leased_until, tasks, ...said };
  }

  /** One that found nothing may be asked again under its request id. */
  function claim(body: Body, make: () => { state: string }) {
    const { request_id } = body;
    const name = `claim ${request_id}`;
    const answer = (answers.get(name) as { state: string }) ?? make();
    if (request_id !== undefined && answer.state === 'found') answers.set(name, answer);
    return answer;
  }

  function enqueue([queue = '']: string[], body: Body) {
    const { request_id, tasks, ...one } = body;
    const given: NewTask[] = tasks ?? [one];
    for (const task of given) store.check(task);
    return once('enqueue', request_id, () => ({
      ids: given.map((task) => store.add(queue, task)),
    }));
  }

  function shown({ order, due, unique_key, headers, cancel_requested, failed, ...task }: Stored) {
    const kept = { ...(unique_key && { unique_key }), ...(headers && { headers }) };
    const options = Object.keys(kept).length > 0 ? kept : null;
    return { ...task, options, rerun_of: null, reruns: [] };
  }

  function cancel(id: string) {
    const task = store.tasks.get(id);
    if (!task) return [];
    const { state } = task;
    if (ended.includes(state)) return [{ id, state, changed: false }];
    if (state === 'running') {
      const changed = !task.cancel_requested;
      task.cancel_requested = true;
      return [{ id, state, changed }];
    }
    const run = task.runs.at(-1);
    if (run?.state === 'ready') run.state = 'cancelled';
    store.end(task, 'cancelled');
    return [{ id, state: 'cancelled', changed: true }];
  }

  const lease = (verb: keyof typeof verbs): RegExp =>
    new RegExp(`^POST /v1/leases/([^/]+)/${verb}$`);
  return [
    [/^POST \/v1\/queues\/([^/]+)\/tasks$/, enqueue],
    [
      /^POST \/v1\/queues\/([^/]+)\/claim$/,
      (names, body) => claim(body, () => claimOne(names, body)),
    ],
    [
      /^POST \/v1\/claim$/,
      (_, body) =>
        claim(body, () =>
          claimed(
            body.queues.map((one: Body) => one.queue ?? one),
            body,
          ),
        ),
    ],
    [lease('complete'), ([token = ''], body) => verbs.complete(token, body.results)],
    [lease('fail'), ([token = ''], body) => verbs.fail(token, body.failures ?? body)],
    [lease('release'), ([token = ''], body) => verbs.release(token, body.ids)],
    [lease('extend'), ([token = ''], b) => verbs.extend(token, b.lease_seconds ?? 60, b.progress)],
    [
      /^POST \/v1\/tasks\/cancel$/,
      (_, body) => ({ tasks: [...new Set<string>(body.ids)].flatMap(cancel) }),
    ],
    [
      /^GET \/v1\/tasks\/([^/?]+)(?:\?wait_seconds=\d+)?$/,
      ([id = '']) => {
        const task = store.tasks.get(id);
        if (!task) throw noTask();
        return shown(task);
      },
    ],
    [
      /^PUT \/v1\/queues\/([^/]+)$/,
      ([queue = ''], body) => {
        if (body.paused) store.paused.add(queue);
        else store.paused.delete(queue);
        return { name: queue, paused: body.paused };
      },
    ],
  ];
}

/** Answers a request as the HTTP door would. */
export function answer(
  store: Store,
  routes: ReturnType<typeof routesOf>,
  asked: string,
  text: string,
): Response {
  const headers = { 'content-type': 'application/json' };
  try {
    store.settle();
    for (const [route, make] of routes) {
      const names = route.exec(asked)?.slice(1).map(decodeURIComponent);
      if (names) return new Response(JSON.stringify(make(names, JSON.parse(text))), { headers });
    }
    throw new Refused(501, `The in-memory Tock does not know ${asked}.`);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { status, message: detail, field, hint } = error;
    return new Response(JSON.stringify({ status, detail, field, hint }), { status, headers });
  }
}
