import type { System } from '../types.ts';
import { absurd } from './absurd.ts';
import { dbos } from './dbos.ts';
import { floor } from './floor.ts';
import { graphileWorker } from './graphile-worker.ts';
import { perUserTables } from './per-user-tables.ts';
import { pgBoss } from './pg-boss.ts';
import { pgmq } from './pgmq.ts';
import { singleTable } from './single-table.ts';
import { tock } from './tock.ts';
import { tockNext } from './tock-next.ts';
import { tockNode } from './tock-node.ts';

/** The systems in the order of the columns. */
export const systems: System[] = [
  tock,
  tockNext,
  graphileWorker,
  pgBoss,
  singleTable,
  perUserTables,
];

/** Systems that are measured only if --systems names them. */
export const more: System[] = [tockNode, pgmq, absurd, dbos];

export { floor };
