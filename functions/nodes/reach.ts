import { statementLimit } from '../database/connect.ts';
import type { Connect, Query } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import type { Answer } from '../http/answer.ts';
import { refusal } from '../http/problem.ts';
import type { RoutedCall, Run } from './call.ts';
import { claimFromQueue } from './claim.ts';
import { claimFromNodes } from './claims.ts';
import { nodesOf } from './config.ts';
import { fromAll, fromAny, fromFirst, onEach } from './every.ts';
import { makeKeyOnEach } from './keys.ts';
import { onOwners, refuseOthers } from './owners.ts';
import { numberAt, splitNumber } from './pages.ts';
import { keyOfId, type Placement, placementOf } from './placements.ts';
import { type Router, statementsOf, withRouter } from './router.ts';

/** Runs the statement of a call where it belongs. */
export type Send<C> = (run: Run<C>) => Promise<Answer>;
/** Opens what a call needs. `most` is the maximum number of statements, if there is a limit. */
export type Reach<C> = <T>(use: (send: Send<C>, most?: number) => Promise<T>) => Promise<T>;

const scheduleSql = 'select tock.queue_of_schedule(p_schedule => $1) is not null as known';

/** Refuses a schedule whose name another node has already: it would fire twice. */
async function refuseSecond(router: Router, name: string, key: string): Promise<void> {
  const owner = (await router.owners([key])).get(key);
  await fromFirst(router, async ({ node, query }) => {
    if (node === owner) return;
    const [row] = await query(scheduleSql, [name]);
    if (!row?.known) return;
    throw refusal(409, `Node ${node} has a schedule of this name, for a queue there.`, {
      field: 'schedule',
      hint: 'Delete that schedule first.',
    });
  });
}

async function onOwner(
  router: Router,
  key: string,
  placement: Placement,
  call: RoutedCall,
  run: Run<RoutedCall>,
  checkKey: () => Promise<unknown>,
): Promise<Answer> {
  const others = placement.beside?.(call) ?? [];
  // What the refusals say is not for everybody.
  if (others.length > 0 || placement.onlyOne) await checkKey();
  await refuseOthers(router, key, others);
  if (placement.onlyOne) await refuseSecond(router, placement.onlyOne(call), key);
  const answers = await onOwners(router, [key], async ({ place }) => {
    const answer = await run(place.query, call);
    if (!answer || !placement.numbersAnswer) return answer;
    const node = place.node ?? (await router.owners([key])).get(key) ?? 0;
    const body = JSON.parse(answer.body);
    return { ...answer, body: JSON.stringify({ ...body, id: numberAt(node, body.id) }) };
  });
  return answers[0];
}

/** The owners of the ids of a call, each with its own. */
async function onOwnersOfIds(
  router: Router,
  call: RoutedCall,
  run: Run<RoutedCall>,
  merge: NonNullable<Placement['ids']>['merge'],
): Promise<Answer> {
  const ids = call.body.ids as string[];
  const answers = await onOwners(router, [...new Set(ids.map(keyOfId))], async (group) => {
    const own = ids.filter((id) => group.keys.includes(keyOfId(id)));
    return run(group.place.query, { ...call, body: { ...call.body, ids: own } });
  });
  if (answers.length === 1) return answers[0];
  const parts = answers.flatMap((answer) =>
    answer ? [{ node: 0, body: JSON.parse(answer.body) }] : [],
  );
  return { body: JSON.stringify(merge(parts, call)) };
}

async function onNumbered(router: Router, call: RoutedCall, run: Run<RoutedCall>): Promise<Answer> {
  const { node, number } = splitNumber(call.params.id ?? '0');
  const place = (await router.all()).find((one) => one.node === node);
  if (!place || number === '0') return undefined;
  const answer = await run(place.query, { ...call, params: { ...call.params, id: number } });
  if (!answer) return undefined;
  const body = JSON.parse(answer.body);
  return { ...answer, body: JSON.stringify('id' in body ? { ...body, id: call.params.id } : body) };
}

async function route(
  router: Router,
  placement: Placement,
  call: RoutedCall,
  run: Run<RoutedCall>,
  checkKey: () => Promise<unknown>,
): Promise<Answer> {
  const key = placement.key?.(call) ?? null;
  if (key !== null && placement.claim) return claimFromQueue(router, key, call, run);
  const read = placement.moving ?? placement.all;
  if (key !== null && read) {
    const places = (await router.places([key])).get(key) ?? [];
    if (places.length > 1) return fromAll(router, read, call, run, places);
  }
  if (key !== null) return onOwner(router, key, placement, call, run, checkKey);
  if (placement.all) return fromAll(router, placement.all, call, run);
  if (placement.any) return fromAny(router, ({ query }) => run(query, call));
  if (placement.first) return fromFirst(router, ({ query }) => run(query, call));
  if (placement.ids) return onOwnersOfIds(router, call, run, placement.ids.merge);
  if (placement.queues) return claimFromNodes(router, call, run);
  if (placement.keys) return makeKeyOnEach(router, call, run);
  if (placement.numbered) return onNumbered(router, call, run);
  const answers = await onEach(router, ({ query }) => run(query, call));
  const made = answers.flatMap(({ answer }) => answer ?? []);
  const [first] = made;
  const { merge } = placement.each ?? {};
  if (!first || !merge) return first;
  const parts = made.map(({ body }, node) => ({ node, body: JSON.parse(body) }));
  return { body: JSON.stringify(merge(parts, call)) };
}

/** The way of a call to its database, or to its nodes. `checkKey` throws if the key of the call is unknown. */
export function reachOf<C>(
  connect: Connect,
  env: Bindings,
  operationId: string,
  call: C,
  checkKey: () => Promise<unknown> = async () => {},
): { reach: Reach<C>; most: number | undefined } {
  const nodes = nodesOf(env);
  if (!nodes) {
    return {
      reach: (use) => connect(env, (query, most) => use((run) => run(query, call), most)),
      most: statementLimit(env),
    };
  }
  const placement = placementOf(operationId);
  // The table knows which fields the input of each route has.
  const own = call as unknown as RoutedCall;
  return {
    reach: (use) =>
      withRouter(connect, env, nodes, (router, most) =>
        use(
          (run) => route(router, placement, own, run as unknown as Run<RoutedCall>, checkKey),
          most,
        ),
      ),
    most: nodes === 'ask' ? statementLimit(env) : statementsOf(nodes),
  };
}

/** Like connect(), for what each node can answer: with several nodes `use` gets the first that does. */
export async function connectToAny<T>(
  connect: Connect,
  env: Bindings,
  use: (query: Query) => Promise<T>,
): Promise<T> {
  const nodes = nodesOf(env);
  if (!nodes) return connect(env, use);
  return withRouter(connect, env, nodes, (router) => fromAny(router, ({ query }) => use(query)));
}
