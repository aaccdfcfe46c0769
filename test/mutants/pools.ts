import type { Mutant } from './mutants.ts';

/** Pools of workers. */
export const pools: Mutant[] = [
  {
    name: 'a task may have two workers',
    in: 'tock.pool_members',
    find: 'create unique index pool_members_by_task',
    replace: 'create index pool_members_by_task',
    caught: [
      'sql/features/pools/pools-races.test.ts',
      'sixteen concurrent assigns of the same tasks',
    ],
  },
  {
    name: 'a worker may have two tasks',
    in: 'tock.pool_members',
    find: 'create unique index pool_members_by_worker',
    replace: 'create index pool_members_by_worker',
    caught: ['sql/features/pools/rejoin.test.ts', 'take_task under repeatable read'],
  },
  {
    name: 'a worker ends what another holds',
    in: 'tock.unassign_task',
    find: 'if v_place.number is null or v_place.number <> p_fencing_token then',
    replace: 'if v_place.number is null then',
    caught: ['sql/features/pools/pools.test.ts', "a heartbeat returns the worker's task"],
  },
  {
    name: 'a heartbeat with a stale fencing token counts',
    in: 'tock.join_pool',
    find: 'v_place.number <> p_fencing_token or v_place.leased_until <=',
    replace: 'v_place.leased_until <=',
    caught: ['sql/features/pools/pools.test.ts', "a heartbeat returns the worker's task"],
  },
  {
    name: 'a worker that has vanished keeps its task for good',
    in: 'tock.assign_task',
    find: 'if v_task.worker is not null and v_task.leased_until > pg_catalog.clock_timestamp() then',
    replace: 'if v_task.worker is not null then',
    caught: ['sql/features/pools/pools.test.ts', 'one of three candidates is elected leader'],
  },
  {
    name: 'the reaper of pools takes workers that are alive',
    in: 'tock.reap_pool',
    find: 'where p.number = any (array[d.number]) and d.leased_until <= p_now;',
    replace: 'where p.number = d.number;',
    caught: ['sql/features/pools/pools.test.ts', 'a worker with heartbeats survives'],
  },
];
