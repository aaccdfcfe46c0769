import type { Shape, System } from '../types.ts';
import { queueNames, tock } from './tock.ts';

const options = (kind: 'enqueue' | 'cycle', shape: Shape) => ({
  kind,
  batch: shape.batch,
  bytes: shape.bytes,
  queues: queueNames(shape),
  processes: 2,
});

/** Tock, called through node-postgres as the peers are. It shows how much of the difference is due to pgbench. */
export const tockNode: System = {
  ...tock,
  name: 'tock (node)',
  settings: [
    'the same statements, prepared by name, over node-postgres in two processes that share the connections',
  ],
  enqueue: (shape) => ({
    by: 'node',
    module: 'peers/tock.ts',
    options: options('enqueue', shape),
  }),
  cycle: (shape) => ({ by: 'node', module: 'peers/tock.ts', options: options('cycle', shape) }),
};
