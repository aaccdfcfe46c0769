import { refusal } from '../http/problem.ts';
import type { Merge, RoutedCall } from './call.ts';
import { MAX_NODE } from './config.ts';
import {
  combined,
  either,
  exposition,
  higher,
  merged,
  newest,
  rowsByName,
  rowsOfNodes,
  series,
  total,
  union,
} from './merges.ts';
import { byCursor, byName, byNumber, type PartOf } from './pages.ts';

/**
 * To which nodes the statement of a route goes: to the owner of `key`, if that is not null, and otherwise
 * - `all`: reads of all nodes, merged. A node that is down is missing.
 * - `each`: a change of every node, or of none if one is down.
 * - `keys`: like `each`, for a new key, which the first node makes and the others copy.
 * - `any`: one that answers.
 * - `first`: the first that knows the object.
 * - `ids`: the owners of these ids, each with its own.
 * - `queues`: the owners of these queues, one after the other.
 * - `numbered`: the node in the number `id` of the path.
 * - `refused`: none.
 * A claim of one queue goes to the nodes that the queue has left, then to its owner. A read of one queue that is moving
 * goes to all of them, and its answers are merged by `moving`, or as those of all nodes.
 */
export type Placement = {
  key?(call: RoutedCall): string | null;
  /** Further keys that must have the same owner, with their fields. */
  beside?(call: RoutedCall): { key: string; field: string; hint: string }[];
  /** No other node may have a schedule of this name. */
  onlyOne?(call: RoutedCall): string;
  claim?: true;
  moving?: { merge: Merge };
  /** The field `id` of the answer is a number of the node. */
  numbersAnswer?: true;
  all?: { merge: Merge; part?: PartOf };
  each?: { merge?: Merge };
  ids?: { merge: Merge };
  keys?: true;
  any?: true;
  first?: true;
  queues?: true;
  numbered?: true;
  refused?: string;
};

const queue = (call: RoutedCall) => call.params.queue ?? null;
const pool = (call: RoutedCall) => call.params.pool ?? null;
const queueOrAll = (call: RoutedCall) => call.query.queue ?? null;
const named = (call: RoutedCall) => (call.params.queue === '*' ? null : queue(call));

const rangeKey = (range: number | bigint) => `:${range}`;
/** The first ten of an id's 63 bits are its range. */
export const keyOfId = (id: string) => rangeKey(BigInt(id) >> 53n);
/** A lease ends with its segment, whose first ten of 28 bits are its range. */
export const keyOfLease = (lease: string) =>
  rangeKey((Number.parseInt(lease.slice(-7), 16) >> 18) & MAX_NODE);

const id = ({ params }: RoutedCall) => keyOfId(params.id ?? '0');
const lease = ({ params }: RoutedCall) => keyOfLease(params.lease ?? '');
/** An event has no queue, but a name with a slash begins with one. */
const queueOfEvent = ({ body }: RoutedCall) => String(body.event).split('/')[0] ?? null;

const ofQueue: Placement = { key: queue };
const ofPool: Placement = { key: pool };
const ofTask: Placement = { key: id };
const ofLease: Placement = { key: lease };
const ofSchedule: Placement = { first: true };
const onEach: Placement = { each: {} };

const at = (name: string) => (row: Record<string, string>) => Date.parse(row[name] ?? '');
const isNewer = (a: Record<string, string>, b: Record<string, string>) =>
  at('created_at')(a) > at('created_at')(b);
const endsFirst = (a: Record<string, string>, b: Record<string, string>) =>
  at('leased_until')(a) < at('leased_until')(b);

const tasks: Merge = (parts) => ({ tasks: parts.flatMap(({ body }) => body.tasks) });

const workers: Merge = (parts, { query }) => {
  const ways = { queues: union, last_claim_at: newest };
  const { workers: rows } = rowsByName('workers', 'worker', ways)(parts, {} as RoutedCall) as {
    workers: Record<string, string>[];
  };
  const latest = rows.toSorted((a, b) => at('last_claim_at')(b) - at('last_claim_at')(a));
  return { workers: latest.slice(0, Number(query.limit ?? 1000)) };
};

const keysOfNodes: Merge = (parts, call) => {
  const ways = {
    ...Object.fromEntries(
      ['scopes', 'queues', 'tenants', 'rate_limit', 'rate_seconds'].map((name) => [name, either]),
    ),
    last_used_at: newest,
  };
  const { keys } = rowsByName('keys', 'prefix', ways)(parts, call) as {
    keys: Record<string, string>[];
  };
  return { keys: keys.toSorted((a, b) => at('created_at')(a) - at('created_at')(b)) };
};

/** The findings name their node. Of the clocks, that which differs most is compared. */
const findings: Merge = (parts) => {
  const apart = ({ body }: (typeof parts)[number]) => Math.abs(body.there - body.before);
  const [most] = parts.toSorted((a, b) => apart(b) - apart(a));
  const severities = ['critical', 'warning', 'note'];
  const isWorse = (a: { severity: string }, b: { severity: string }) =>
    severities.indexOf(a.severity) < severities.indexOf(b.severity);
  const lists = parts.map(({ node, body }) =>
    body.findings.map((finding: { detail: string | null }) => ({
      ...finding,
      detail: [`node ${node}`, finding.detail].filter(Boolean).join(': '),
    })),
  );
  return { findings: merged(lists, isWorse), before: most?.body.before, there: most?.body.there };
};

const signalled: Merge = (parts) => ({
  accepted: parts.every(({ body }) => body.accepted),
  woken: parts.reduce((sum, { body }) => sum + body.woken, 0),
});

const counts = ['ready', 'running', 'waiting', 'dead', 'oldest_ready_at', 'waiting_for'];

/** The policy of the owner, which is the last one, and the counts of all. */
const policyAndCounts: Merge = (parts) => {
  const countsOf = ({ body }: (typeof parts)[number]) =>
    Object.fromEntries(counts.map((name) => [name, body[name]]));
  const all = parts.map(countsOf).reduce((a, b) => combined(a, b));
  return { ...parts.at(-1)?.body, ...all };
};

const step = 'Each node has an archive of its own: send the call to a Worker for that node alone.';

/** The placement of each route, by its operationId. */
export const placements: Record<string, Placement> = {
  enqueueTasks: ofQueue,
  getTask: ofTask,
  listTasks: { key: queueOrAll, all: byCursor('tasks', 100, isNewer) },
  countEndedTasks: ofQueue,
  listDeadTasks: ofQueue,
  listParents: ofTask,
  listChildren: ofTask,
  changeTask: ofTask,
  cancelTask: ofTask,
  eraseTask: ofTask,
  rerunTask: ofTask,
  listSteps: ofTask,
  cancelTasks: { ids: { merge: tasks } },
  reprioritizeTasks: { ids: { merge: tasks } },
  rerunTasks: { ids: { merge: tasks } },
  moveTasks: {
    key: ({ body }) => body.queue as string,
    beside: ({ body }) =>
      (body.ids as string[]).map((task, n) => ({
        key: keyOfId(task),
        field: `ids[${n}]`,
        hint: 'Tasks can only move to a queue of their node.',
      })),
  },
  cancelTasksOfQueue: ofQueue,
  reprioritizeTasksOfQueue: ofQueue,
  redriveQueue: ofQueue,
  startBulkChange: { key: queue, numbersAnswer: true },
  listBulkChanges: { all: byNumber('bulk_changes', 'id') },
  getBulkChange: { numbered: true },
  stopBulkChange: { numbered: true },

  claimTasks: { key: queue, claim: true },
  claimTaskForWorker: { key: queue, claim: true },
  claimTasksOfQueues: { queues: true },
  completeRuns: ofLease,
  failRuns: ofLease,
  releaseRuns: ofLease,
  extendLease: ofLease,
  saveSteps: ofLease,
  getLeasedSteps: ofLease,
  listOpenLeases: { key: queueOrAll, all: byCursor('leases', 100, endsFirst) },
  listWorkers: { key: queueOrAll, all: { merge: workers } },
  signalEvent: { each: { merge: signalled } },
  createEventLink: { key: queueOfEvent },
  signalByLink: { first: true },

  putQueue: { key: named, each: {} },
  getQueue: { key: named, any: true, moving: { merge: policyAndCounts } },
  listQueues: { all: { merge: rowsByName('queues', 'name') } },
  explainQueue: ofQueue,
  purgeQueue: ofQueue,
  dropQueue: ofQueue,
  getLimits: ofQueue,
  resetLimits: ofQueue,
  listLimits: { all: { merge: rowsByName('limits', 'queue') } },
  getPushSecret: ofQueue,
  rotatePushSecret: ofQueue,
  listConcurrencyKeys: ofQueue,
  getConcurrencyKey: ofQueue,
  changeConcurrencyKey: ofQueue,
  resetConcurrencyKey: ofQueue,

  putSchedule: {
    key: ({ body }) => body.queue as string,
    onlyOne: ({ params }) => params.schedule ?? '',
  },
  getSchedule: ofSchedule,
  deleteSchedule: ofSchedule,
  pauseSchedule: ofSchedule,
  resumeSchedule: ofSchedule,
  runSchedule: ofSchedule,
  listFires: ofSchedule,
  listNextFires: ofSchedule,
  listSchedules: { key: queueOrAll, all: byName('schedules', 'name') },
  listNextFiresOfCron: { any: true },

  listPools: { all: { merge: rowsByName('pools', 'pool') } },
  listPoolMembers: ofPool,
  joinPool: ofPool,
  leavePool: ofPool,
  assignTask: ofPool,
  assignTasks: ofPool,
  addTasksToPool: ofPool,
  takeTask: ofPool,
  unassignTask: ofPool,

  createKey: { keys: true },
  rotateKey: { keys: true },
  changeKey: onEach,
  revokeKey: onEach,
  listKeys: { all: { merge: keysOfNodes } },
  getKey: { any: true },

  getMetrics: { all: { merge: exposition } },
  getStats: { all: { merge: total() } },
  getSeries: { all: { merge: series } },
  getSeriesOfQueue: ofQueue,
  getOverview: {
    all: { merge: rowsByName('queues', 'name', { wait_p95: higher, run_p95: higher }) },
  },

  listAuditLog: { all: byNumber('entries', 'number') },
  getMaintenance: { all: { merge: rowsOfNodes('maintenance_jobs', 'jobs', 'segments') } },
  getDoctor: { all: { merge: findings } },
  tick: { all: { merge: total() } },
  listLinks: { any: true },
  getHealth: { all: { merge: () => ({}) } },

  getArchive: { all: { merge: total() } },
  putArchive: onEach,
  endSegment: { refused: step },
  stepArchive: { refused: step },
  listArchivedTasks: ofQueue,
};

/** The placement of a route; throws if the call cannot be made with several nodes. */
export function placementOf(operationId: string): Placement {
  const placement = placements[operationId];
  if (!placement) throw new Error(`The route ${operationId} has no placement.`);
  if (placement.refused)
    throw refusal(409, 'This call is for one node, and this Worker has several.', {
      hint: placement.refused,
    });
  return placement;
}

/** True if an answer of several nodes may lack some of them. */
export function mayMissNodes(operationId: string): boolean {
  const { all, queues, moving } = placements[operationId] ?? {};
  return all !== undefined || queues === true || moving !== undefined;
}
