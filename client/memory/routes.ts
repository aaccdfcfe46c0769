import type { ClaimAnswer, ClaimOptions, Ended, LeaseEnd, NewTask } from '../types.ts';
import {
  checkClaim,
  checkId,
  checkIds,
  checkPayloads,
  checkPolicy,
  checkQueue,
  checkTasks,
} from './checks.ts';
import { noTask, RefusedError } from './problem.ts';
import { stepsOf, stepVerbs } from './steps.ts';
import type { Store, StoredLease, StoredTask } from './store.ts';
import { leaseVerbs } from './verbs.ts';

// biome-ignore lint/suspicious/noExplicitAny: the client's own JSON
type Body = any;
type Route = (names: string[], body: Body) => unknown;

const ended = ['done', 'dead', 'cancelled'];

/** The HTTP routes that the in-memory Tock supports, by method and path. */
export function createRoutes(store: Store): [route: RegExp, answer: Route][] {
  const verbs = leaseVerbs(store);
  const steps = stepVerbs(store);
  /** Answers by request id, with the request's parameters. */
  const answers = new Map<string, { parameters: string; answer: unknown }>();

  /** Returns the earlier answer of a repeated call; another call under the same request id is refused. */
  function earlierAnswer(name: string, parameters: string): unknown {
    const known = answers.get(name);
    if (known && known.parameters !== parameters) {
      throw new RefusedError(422, 'request_id: it was used for another call', 'request_id');
    }
    return known?.answer;
  }

  const leasedTasks = (lease: StoredLease) =>
    [...lease.runs.values()].map(({ task, run }) => {
      const { id, max_attempts, priority, tenant, created_at, payload, headers } = task;
      const { attempt } = run;
      const details = {
        tenant,
        created_at,
        payload,
        headers,
        push_url: null,
        steps: task.steps.size > 0 ? stepsOf(task, store.now()) : null,
      };
      return { id, run_id: run.id, attempt, max_attempts, priority, ...details };
    });

  function claimAll(queues: string[], options: ClaimOptions): ClaimAnswer {
    steps.settleChildren();
    let remaining = options.limit ?? 1;
    const leases = [];
    for (const queue of queues) {
      const lease = remaining > 0 ? store.claim(queue, { ...options, limit: remaining }) : null;
      if (!lease) continue;
      remaining -= lease.runs.size;
      const leased_until = store.instant(lease.until);
      leases.push({ queue, lease: lease.lease, leased_until, tasks: leasedTasks(lease) as never });
    }
    const state =
      leases.length > 0 ? 'found' : queues.every((q) => store.paused.has(q)) ? 'paused' : 'empty';
    return { leases, state, retry_after_seconds: leases.length > 0 ? 0 : 1 };
  }

  /** Ends a lease before a claim. A lease that has ended is lost, which is no error. */
  function endLease({ lease, results, failures }: LeaseEnd): Ended {
    const answer: Ended = { lease, completed: 0, failed: 0, dead: 0, refused: [], lost: false };
    const add = (verb: () => Partial<Ended> & { refused: string[] }) => {
      const { refused, ...counts } = verb();
      Object.assign(answer, counts, { refused: [...answer.refused, ...refused] });
    };
    try {
      if (results || !failures) add(() => verbs.complete(lease, results));
      if (failures) add(() => verbs.fail(lease, failures));
    } catch (error) {
      if (!(error instanceof RefusedError && error.status === 409)) throw error;
      answer.lost = answer.completed === 0;
      answer.refused.push(...[...(results ?? []), ...(failures ?? [])].map(({ id }) => id));
    }
    return answer;
  }

  function claimOne([queue = '']: string[], body: Body) {
    const ended = body.ends?.map(endLease);
    const { leases, ...rest } = claimAll([queue], body);
    const { lease = null, leased_until = null, tasks = [] } = leases[0] ?? {};
    return { lease, leased_until, tasks, ...rest, ...(ended && { ended }) };
  }

  const isOpen = (lease: string) =>
    [...(store.leases.get(lease)?.runs.values() ?? [])].some(({ ended }) => ended === undefined);

  /** A claim without tasks may be repeated under its request id. */
  function claim(queues: string[], body: Body, handle: () => Body) {
    checkClaim(queues, body);
    const name = `claim ${body.request_id}`;
    const known = earlierAnswer(name, `${queues}`) as Body;
    if (known) {
      const leases: Body[] = known.leases ?? [known];
      if (leases.some((task) => isOpen(task.lease))) return known;
      const message = 'request_id: the lease of the claim with this request_id has ended';
      throw new RefusedError(409, message, 'request_id');
    }
    const answer = handle();
    const hasTasks = body.request_id !== undefined && answer.state === 'found';
    if (hasTasks) answers.set(name, { parameters: `${queues}`, answer });
    return answer;
  }

  function enqueue([queue = '']: string[], body: Body) {
    const { request_id, tasks, payloads, ...singleTask } = body;
    checkQueue(queue);
    if (payloads !== undefined) checkPayloads(payloads);
    const newTasks: NewTask[] = payloads?.map((payload: unknown) => ({ payload })) ??
      tasks ?? [singleTask];
    if (payloads === undefined) checkTasks(newTasks, tasks ? 'tasks' : null);
    const name = `enqueue ${request_id}`;
    const parameters = JSON.stringify([queue, payloads ?? newTasks]);
    const known = request_id === undefined ? undefined : earlierAnswer(name, parameters);
    if (known) return known;
    const answer = { ids: newTasks.map((task) => store.add(queue, task)) };
    if (request_id !== undefined) answers.set(name, { parameters, answer });
    return answer;
  }

  function taskView({
    order,
    due,
    unique_key,
    headers,
    cancel_requested,
    failed,
    steps,
    unused,
    ...task
  }: StoredTask) {
    const options = { ...(unique_key && { unique_key }), ...(headers && { headers }) };
    const optionsOrNull = Object.keys(options).length > 0 ? options : null;
    return { ...task, options: optionsOrNull, rerun_of: null, reruns: [], schedule: null };
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
      (names, body) => claim(names, body, () => claimOne(names, body)),
    ],
    [
      /^POST \/v1\/claim$/,
      (_, body) => {
        const names: string[] = body.queues.map((queue: Body) => queue.queue ?? queue);
        return claim(names, body, () => claimAll(names, body));
      },
    ],
    [lease('complete'), ([token = ''], body) => verbs.complete(token, body.results)],
    [lease('fail'), ([token = ''], body) => verbs.fail(token, body.failures ?? body)],
    [lease('release'), ([token = ''], body) => verbs.release(token, body.ids)],
    [lease('extend'), ([token = ''], b) => verbs.extend(token, b.lease_seconds ?? 60, b.progress)],
    [
      /^POST \/v1\/leases\/([^/]+)\/steps$/,
      ([token = ''], body) => ({ steps: steps.save(token, body.steps) }),
    ],
    [
      /^GET \/v1\/leases\/([^/]+)\/steps\?id=(\d+)$/,
      ([token = '', id = '']) => ({ steps: steps.leased(token, id) }),
    ],
    [
      /^GET \/v1\/tasks\/(\d+)\/steps$/,
      ([id = '']) => {
        const task = store.tasks.get(id);
        if (!task) throw noTask();
        return {
          steps: stepsOf(task, store.now()).map((step) => ({
            ...step,
            result: step.kind === 'link' ? null : step.result,
            unused: task.unused.has(step.name),
          })),
        };
      },
    ],
    [
      /^POST \/v1\/events$/,
      (_, body) => steps.signal(body.event, body.payload ?? null, body.request_id),
    ],
    [
      /^POST \/v1\/event-links$/,
      (_, { event, valid_seconds }) => steps.createLink(event, valid_seconds ?? undefined),
    ],
    [/^POST \/v1\/events\/([^/]+)$/, ([token = ''], payload) => steps.signalByLink(token, payload)],
    [
      /^POST \/v1\/tasks\/rerun$/,
      (_, { ids, from_step }) => {
        checkIds(ids);
        return { tasks: ids.flatMap((id: string) => steps.rerun(id, from_step)) };
      },
    ],
    [
      /^POST \/v1\/tasks\/cancel$/,
      (_, { ids }) => {
        checkIds(ids);
        return { tasks: [...new Set<string>(ids)].flatMap(cancel) };
      },
    ],
    [
      /^GET \/v1\/tasks\/([^/?]+)(?:\?wait_seconds=\d+)?$/,
      ([id = '']) => {
        checkId(id);
        const task = store.tasks.get(id);
        if (!task) throw noTask();
        return taskView(task);
      },
    ],
    [
      /^PUT \/v1\/queues\/([^/]+)$/,
      ([queue = ''], body) => {
        checkQueue(queue);
        checkPolicy(body);
        if (body.paused) store.paused.add(queue);
        else store.paused.delete(queue);
        return { name: queue, paused: body.paused };
      },
    ],
  ];
}

/** Answers a request as the HTTP API would. */
export function answer(
  store: Store,
  routes: ReturnType<typeof createRoutes>,
  request: string,
  text: string,
): Response {
  const headers = { 'content-type': 'application/json' };
  try {
    store.advance();
    for (const [route, handle] of routes) {
      const names = route.exec(request)?.slice(1).map(decodeURIComponent);
      if (names) return new Response(JSON.stringify(handle(names, JSON.parse(text))), { headers });
    }
    throw new RefusedError(
      501,
      `The in-memory Tock does not support ${request}.`,
      undefined,
      'Test this with a Tock server started by npm start.',
    );
  } catch (error) {
    // The client does not retry a 501.
    const refusal =
      error instanceof RefusedError ? error : new RefusedError(501, (error as Error).message);
    const { status, message: detail, field, hint } = refusal;
    return new Response(JSON.stringify({ status, detail, field, hint }), { status, headers });
  }
}
