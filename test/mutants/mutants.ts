import { append } from './append.ts';
import { bulkChanges } from './bulk_changes.ts';
import { claim } from './claim.ts';
import { client } from './client.ts';
import { concurrency } from './concurrency.ts';
import { consumers } from './consumers.ts';
import { dependencies } from './dependencies.ts';
import { finish } from './finish.ts';
import { http } from './http.ts';
import { keys } from './keys.ts';
import { limits } from './limits.ts';
import { maintenance } from './maintenance.ts';
import { multiClaim } from './multi_claim.ts';
import { overrides } from './overrides.ts';
import { pipelines } from './pipelines.ts';
import { pools } from './pools.ts';
import { promote } from './promote.ts';
import { push } from './push.ts';
import { read } from './read.ts';
import { reap } from './reap.ts';
import { requestIds } from './request_ids.ts';
import { restore } from './restore.ts';
import { retention } from './retention.ts';
import { retry } from './retry.ts';
import { roles } from './roles.ts';
import { schedules } from './schedules.ts';
import { segments } from './segments.ts';
import { streams } from './streams.ts';
import { tenants } from './tenants.ts';
import { uniqueKeys } from './unique_keys.ts';

/** A planted bug, and the test that must fail because of it. */
export type Mutant = {
  name: string;
  /** A function or table of SQL with its schema, or a folder: sql, client, functions or examples. */
  in: string;
  /** The code to find, compared token by token. See match.ts. */
  find: string;
  /** The code that replaces it. */
  replace: string;
  /** A file below test/, and the name of the test or a part of it. */
  caught: [file: string, test: string];
};

export const mutants: Mutant[] = [
  ...append,
  ...bulkChanges,
  ...claim,
  ...client,
  ...concurrency,
  ...consumers,
  ...dependencies,
  ...finish,
  ...http,
  ...keys,
  ...limits,
  ...maintenance,
  ...multiClaim,
  ...overrides,
  ...pipelines,
  ...pools,
  ...promote,
  ...push,
  ...read,
  ...reap,
  ...requestIds,
  ...restore,
  ...retention,
  ...retry,
  ...roles,
  ...schedules,
  ...segments,
  ...streams,
  ...tenants,
  ...uniqueKeys,
];
