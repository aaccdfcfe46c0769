import type { Group } from '../types.ts';
import { groups as assign } from './assign.ts';
import { groups as backlog } from './backlog.ts';
import { groups as batches } from './batches.ts';
import { groups as commitDelay } from './commit_delay.ts';
import { groups as consumers } from './consumers.ts';
import { groups as due } from './due.ts';
import { groups as floors } from './floors.ts';
import { groups as held } from './held.ts';
import { groups as history } from './history.ts';
import { groups as http } from './http.ts';
import { groups as latency } from './latency.ts';
import { groups as latencyCurve } from './latency_curve.ts';
import { groups as memory } from './memory.ts';
import { groups as mixed } from './mixed.ts';
import { groups as nodes } from './nodes.ts';
import { groups as pages } from './pages.ts';
import { groups as payloads } from './payloads.ts';
import { groups as queues } from './queues.ts';
import { groups as together } from './related_tasks.ts';
import { groups as steps } from './steps.ts';
import { groups as tenants } from './tenants.ts';

/** All groups of cases, in the order of the run. Add new groups here. */
export const groups: Group[] = [
  ...batches,
  ...floors,
  ...mixed,
  ...held,
  ...commitDelay,
  ...backlog,
  ...history,
  ...queues,
  ...pages,
  ...payloads,
  ...due,
  ...http,
  ...latency,
  ...latencyCurve,
  ...consumers,
  ...tenants,
  ...memory,
  ...assign,
  ...together,
  ...steps,
  ...nodes,
];
