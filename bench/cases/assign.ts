import { setTimeout as pause } from 'node:timers/promises';
import { startPgbench } from '../pgbench.ts';
import { setMaster, setTid } from '../systems/seed-assign.ts';
import type { Case, Group, Run, System, TestDatabase } from '../types.ts';
import { ratio, rounded, tockOf } from '../windows.ts';

/** The number of connections with which the seed is measured. */
const clients = 32;

/** The script, and the number of assigned tasks so far. */
type Race = { script: string; done: string };

type Raced = {
  /** Seconds until each tenth of the tasks was assigned, as far as the run got. */
  tenths: number[];
  assigned: number;
  seconds: number;
};

/** Runs the script on all clients until every task is assigned or the time is up. */
async function race(
  run: Run,
  database: TestDatabase,
  { script, done }: Race,
  tasks: number,
  most: number,
) {
  const worker = await startPgbench(run.stack.cluster.host, database, script, clients);
  const raced: Raced = { tenths: [], assigned: 0, seconds: 0 };
  try {
    const from = performance.now();
    await worker.ready;
    while (raced.assigned < tasks && raced.seconds < most) {
      // The count runs only once a second, because it takes as long as many calls.
      await Promise.race([pause(1000), worker.over]);
      const before = { ...raced };
      const { rows } = await database.client.query({ name: 'done', text: done });
      raced.assigned = rows[0].done;
      raced.seconds = (performance.now() - from) / 1000;
      for (;;) {
        const next = ((raced.tenths.length + 1) * tasks) / 10;
        if (raced.assigned < next || raced.tenths.length === 10) break;
        const share = (next - before.assigned) / (raced.assigned - before.assigned);
        raced.tenths.push(before.seconds + share * (raced.seconds - before.seconds));
      }
    }
    return raced;
  } finally {
    await worker.close();
  }
}

const lengths = ({ tenths }: Raced) => tenths.map((at, n) => at - (tenths[n - 1] ?? 0));

/** Tasks per second in each tenth. */
const rates = (raced: Raced, tasks: number) => lengths(raced).map((length) => tasks / 10 / length);

const whole = ({ assigned, seconds }: Raced) => assigned / seconds;

type Side = { system: System; ready(database: TestDatabase): Promise<void>; race: Race };

async function raced(run: Run, { system, ready, race: choice }: Side, tasks: number, most: number) {
  const database = await run.open(system);
  try {
    await ready(database);
    await run.settle(database);
    return await race(run, database, choice, tasks, most);
  } finally {
    await run.close(database);
  }
}

/** Maximum seconds of a run. A slower run is compared by the tasks that it did, which makes it look better. */
const most = ({ quick }: Run) => (quick ? 15 : 240);

const describe = (result: Raced, tasks: number) => {
  const row = rates(result, tasks).map(rounded).join(' ');
  return `${rounded(result.assigned)} in ${result.seconds.toFixed(1)} s, by tenths ${row} a second`;
};

function flat(result: Raced, tasks: number): number | null {
  const all = rates(result, tasks);
  return all.length > 1 ? ratio(all.at(-1), all[0]) : null;
}

/** Compares the rates over the whole run, and how constant they are. */
function compared(name: string, ours: Raced, peer: string, theirs: Raced, tasks: number): Case[] {
  const note = `Tock ${describe(ours, tasks)}; ${peer} ${describe(theirs, tasks)}`;
  const [tock, other] = [whole(ours), whole(theirs)];
  const [first, second] = [flat(ours, tasks), flat(theirs, tasks)];
  return [
    {
      name: `${name}, over the whole`,
      unit: 'tasks/s',
      tock,
      floor: null,
      peers: { [peer]: other },
      note,
    },
    {
      name: `${name}, last tenth of first`,
      unit: 'ratio',
      tock: first,
      floor: null,
      peers: { [peer]: second },
      note: '',
    },
  ];
}

const pairs = `select count(*)::int as done from tock.pool_members where worker is not null and task is not null`;

const joined = async (database: TestDatabase, workers: number) =>
  void (await database.client.query(
    `select tock.join_pool('p', 'w' || n, 3600) from generate_series(1, ${workers}) n`,
  ));

/** The tasks are known, and up to a million workers come; each takes one. */
const taking = (run: Run, tasks: number): Side => ({
  system: tockOf(run),
  ready: async ({ client }) =>
    void (await client.query(
      `select tock.add_tasks('p', array(select 't' || n from generate_series(1, ${tasks}) n))`,
    )),
  race: {
    script: `\\set tid random(1, 1000000)\nselect * from tock.take_task('p', :tid::text, 3600);\n`,
    done: pairs,
  },
});

/** The workers are known, and up to a million tasks come, a hundred in each call. */
const byTheHundred = (run: Run, tasks: number): Side => ({
  system: tockOf(run),
  ready: (database) => joined(database, tasks),
  race: {
    script: `select count(fencing_token) from tock.assign_tasks('p', array(select (random() * 1000000)::integer::text from generate_series(1, 100)));\n`,
    done: pairs,
  },
});

const electing = (run: Run, tasks: number): Side => ({
  system: tockOf(run),
  ready: (database) => joined(database, tasks),
  race: {
    script: `\\set task random(1, 1000000)\nselect * from tock.assign_task('p', :task::text);\n`,
    done: pairs,
  },
});

const seedTaking = (tasks: number): Side => ({
  system: setTid(tasks),
  ready: async () => {},
  race: {
    script: '\\set tid random(1, 1000000)\nselect set_tid(:tid);\n',
    done: 'select count(tid)::int as done from task_pool',
  },
});

const seedElecting = (tasks: number): Side => ({
  system: setMaster(tasks),
  ready: async () => {},
  race: {
    script: '\\set task random(1, 1000000)\nselect set_master(:task);\n',
    done: 'select count(taskid)::int as done from java_pool',
  },
});

/** Example 1 of the seed: one of a thousand workers is elected and freed again. pgbench counts the rounds. */
async function cycling(run: Run): Promise<Case[]> {
  const { host } = run.stack.cluster;
  const file = `${host.folder}/assign.sql`;
  const sides = [
    {
      system: tockOf(run),
      ready: "select tock.join_pool('p', 'w' || n, 3600) from generate_series(1, 1000) n",
      script: `\\set task random(100, 100000)
select * from tock.assign_task('p', :task::text);
select tock.unassign_task('p', :task::text);\n`,
    },
    {
      system: setMaster(1000),
      ready: 'select 1',
      script: `\\set task random(100, 100000)
\\set tid 0
select coalesce(set_master(:task), 0) as tid \\gset
update java_pool set taskid=null where tid=:tid and pg_try_advisory_xact_lock(:tid) and taskid is not null;\n`,
    },
  ];
  const databases = await Promise.all(sides.map(({ system }) => run.open(system)));
  try {
    const entries = sides.map(({ system, ready, script }, n) => {
      const database = databases[n] as TestDatabase;
      return {
        name: system.name,
        async window() {
          if (
            n === 1 ||
            (await database.client.query('select from tock.pool_members limit 1')).rowCount === 0
          )
            await database.client.query(ready);
          await run.settle(database);
          await host.write(file, script);
          const argv = ['-n', '-M', 'prepared', '-T', String(run.seconds * 2), '-j', '2'];
          const out = await host.run([
            ...[`${run.bin}/pgbench`, ...argv, '-c', String(clients), '-f', file, database.url],
          ]);
          return Number(/tps = ([\d.]+)/.exec(out)?.[1] ?? Number.NaN);
        },
      };
    });
    const figures = await run.interleave(entries);
    const tock = figures[tockOf(run).name];
    const seed = figures.set_master;
    const windows = Object.fromEntries(
      Object.entries(figures).map(([name, figure]) => [name, figure.windows]),
    );
    return [
      {
        name: 'elect of 1,000 workers and free again',
        unit: 'tasks/s',
        tock: tock?.value ?? null,
        floor: null,
        peers: { set_master: seed?.value ?? null },
        note: 'elections, of which each is ended at once: two statements',
        windows,
      },
    ];
  } finally {
    await host.remove(file);
    for (const database of databases) await run.close(database);
  }
}

async function measured(run: Run): Promise<Case[]> {
  const tasks = run.quick ? 20_000 : 100_000;
  const count = rounded(tasks);
  const measure = (side: Side) => raced(run, side, tasks, most(run));
  const cases: Case[] = [];
  if (run.wants('assign known tasks')) {
    const seed = await measure(seedTaking(tasks));
    const ours = await measure(taking(run, tasks));
    cases.push(...compared(`take each of ${count} tasks`, ours, 'set_tid', seed, tasks));
    const many = await measure(byTheHundred(run, tasks));
    cases.push(...compared(`assign ${count} by the hundred`, many, 'set_tid', seed, tasks));
  }
  if (run.wants('assign known workers')) {
    const seed = await measure(seedElecting(tasks));
    const ours = await measure(electing(run, tasks));
    cases.push(...compared(`elect of ${count} workers`, ours, 'set_master', seed, tasks));
  }
  if (run.wants('assign again')) cases.push(...(await cycling(run)));
  return cases;
}

/** Compares assignment with the seed's functions: the rate, and whether the last task takes as long as the first. */
export const groups: Group[] = [
  {
    name: 'assign',
    cases: ['assign known tasks', 'assign known workers', 'assign again'],
    slow: true,
    run: measured,
  },
];
