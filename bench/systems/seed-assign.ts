import type { System } from '../types.ts';

/** The parts of a system that are not used here, because the case `assign` has its own scripts. */
const nothing = {
  lacks: [
    'no lease: a worker that vanishes keeps its task',
    'Copied from the seed task-assignment, except for the table and the searched columns.',
  ],
  fill: async () => {},
  enqueue: () => null,
  cycle: () => null,
  counts: async () => ({ enqueued: 0, finished: 0 }),
};

// The functions of the seed task-assignment, unchanged except for the table and the searched columns.
const elect = (name: string, table: string, searched: string, assigned: string) => `
  create function ${name}(v_${assigned} int) returns int as $$
  declare
    res int;
  begin
    update ${table} set ${assigned}=$1
    where ${searched} in
    (select ${searched} from ${table}
     where pg_try_advisory_xact_lock(${searched}) and pg_try_advisory_xact_lock($1) and ${assigned} is null limit 1)
    and pg_try_advisory_xact_lock($1)
    returning ${searched} into res;
    return res;
    exception when unique_violation then
      return -1;
    when others then
      return -2;
  end;
  $$ language plpgsql strict`;

/** Example 1 of the seed: a task elects one of many known workers. */
export const setMaster = (workers: number): System => ({
  ...nothing,
  name: 'set_master',
  version: 'the seed task-assignment, example 1',
  settings: ['`java_pool` with a row a worker; one call of set_master elects'],
  async prepare({ client }) {
    await client.query(`
      create table java_pool (tid int primary key, taskid int unique);
      insert into java_pool select generate_series(1, ${workers});
      ${elect('set_master', 'java_pool', 'tid', 'taskid')};
      analyze java_pool`);
  },
});

/** Example 2 of the seed: many known tasks, and unknown workers. */
export const setTid = (tasks: number): System => ({
  ...nothing,
  name: 'set_tid',
  version: 'the seed task-assignment, example 2',
  settings: ['`task_pool` with a row a task; one call of set_tid takes'],
  async prepare({ client }) {
    await client.query(`
      create table task_pool (taskid int primary key, tid int unique);
      insert into task_pool select generate_series(1, ${tasks});
      ${elect('set_tid', 'task_pool', 'taskid', 'tid')};
      analyze task_pool`);
  },
});
