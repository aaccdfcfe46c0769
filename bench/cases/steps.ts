import { readFileSync } from 'node:fs';
import { connection, rate, type Step } from '../calls.ts';
import { cpuSeconds } from '../cluster.ts';
import { payload } from '../payload.ts';
import { serve } from '../serve_worker.ts';
import type { Case, Figure, FlowBy, Group, Run, System, TestDatabase } from '../types.ts';
import { caseOf, figure, floorOf, median, shapeOf, stock, tockOf, warmUp } from '../windows.ts';

/** The systems with steps; other forms of Tock would be measured twice. */
const withSteps = ['tock', 'absurd', 'dbos'];
const shape = shapeOf(1);
/** So many steps a task that its claim and completion hardly count. */
const many = 100;
const microseconds = (seconds: number, count: number) => (seconds * 1e6) / count;

type Flow = { name: string; by: FlowBy; steps: number; unit: 'step' | 'task'; note: string };

const flows: Flow[] = [
  {
    name: 'sql steps',
    by: 'sql',
    steps: many,
    unit: 'step',
    note: `one a call, ${many} a task, claims and completions included; floor: a row inserted`,
  },
  { name: 'sql flow', by: 'sql', steps: 10, unit: 'task', note: 'ten steps, by pgbench' },
  {
    name: 'client flow',
    by: 'client',
    steps: 10,
    unit: 'task',
    note: "ten steps, by the system's own client in two processes",
  },
];

/** Measures tasks of so many steps: the rate, and PostgreSQL's CPU. */
async function flowCases(run: Run, { name, by, steps, unit, note }: Flow): Promise<Case[]> {
  const counted = unit === 'step' ? steps : 1;
  const cpu: Record<string, Figure> = {};
  const databases: TestDatabase[] = [];
  const entries: { name: string; window(): Promise<number> }[] = [];
  try {
    for (const system of run.systems) {
      const work = withSteps.includes(system.name) ? system.flow?.(steps, by) : null;
      if (!work) continue;
      const flowing: System = { ...system, name: `${system.name}: ${name}`, cycle: () => work };
      const database = await run.open(flowing);
      databases.push(database);
      const costs: number[] = [];
      entries.push({
        name: system.name,
        async window() {
          await stock(run, flowing, database, shape, run.seconds);
          const works = [{ work, clients: run.clients }];
          const got = await run.measure(database, flowing, works);
          costs.push(microseconds(got.cpuSeconds, got.finished * counted));
          cpu[system.name] = { value: median(costs), windows: costs };
          return (got.finished * counted) / got.seconds;
        },
      });
    }
    const rates = await run.interleave(entries);
    const floor = unit === 'step' ? await floorOf(run, 'enqueue', shape) : undefined;
    const figures = { ...rates, [run.floor.name]: floor };
    return [
      caseOf(run, { name, unit: `${unit}s/s`, note }, figures),
      caseOf(run, { name: `CPU of ${name}`, unit: `µs/${unit}`, note: 'of PostgreSQL' }, cpu),
    ];
  } finally {
    for (const database of databases) await run.close(database);
  }
}

/** Saves steps of one task after the other over a connection. `saved` is called after each. */
function saves(saved: () => void): Step {
  const result = JSON.parse(payload(100));
  let task: { lease: string; id: string; steps: number } | undefined;
  return async (call) => {
    if (task?.steps === many) {
      await call('POST', `/v1/leases/${task.lease}/complete`, '{}');
      task = undefined;
    }
    if (!task) {
      // Other windows run between those of this task.
      const claim = JSON.stringify({ lease_seconds: 3600 });
      const { lease, tasks } = JSON.parse(await call('POST', '/v1/queues/q/claim', claim));
      if (!lease) throw new Error('The window ran out of tasks.');
      task = { lease, id: tasks[0].id, steps: 0 };
    }
    const step = { id: task.id, name: `step ${++task.steps}`, result };
    await call('POST', `/v1/leases/${task.lease}/steps`, JSON.stringify({ steps: [step] }));
    saved();
    return 1;
  };
}

/** CPU seconds of a process, user and system. */
function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return (Number(user) + Number(system)) / 100;
}

async function httpCases(run: Run): Promise<Case[]> {
  const tock = tockOf(run);
  const database = await run.open(tock);
  const served = await serve(run, database);
  const all = Array.from({ length: run.clients }, () => connection(served));
  let count = 0;
  const byCall = new Map(all.map(({ call }) => [call, saves(() => count++)]));
  const save: Step = (call) => (byCall.get(call) as Step)(call);
  const select: Step = async (call) => {
    await call('GET', '/bench/select1');
    return 1;
  };
  const costs: { postgres: number; worker: number }[] = [];
  const windowOf = async (step: Step) => {
    await rate(all, step, warmUp(run.seconds));
    const before = { count, postgres: await cpuSeconds(run.stack), worker: cpuOf(served.pid) };
    const perSecond = await rate(all, step, run.seconds);
    const steps = count - before.count;
    if (steps > 0) {
      costs.push({
        postgres: microseconds((await cpuSeconds(run.stack)) - before.postgres, steps),
        worker: microseconds(cpuOf(served.pid) - before.worker, steps),
      });
    }
    return perSecond;
  };
  try {
    await tock.fill(database, 10_000, shape);
    await run.settle(database);
    const rates = await run.interleave([
      { name: run.floor.name, window: () => windowOf(select) },
      { name: tock.name, window: () => windowOf(save) },
    ]);
    const postgres = median(costs.map((cost) => cost.postgres));
    const worker = median(costs.map((cost) => cost.worker));
    const note = `one a request, ${many} a task; floor: select 1 through the same Worker`;
    const costNote = `of PostgreSQL; the Worker's ${worker?.toFixed(0)} more, PgBouncer's is not counted`;
    return [
      caseOf(run, { name: 'http steps', unit: 'steps/s', note }, rates),
      caseOf(
        run,
        { name: 'CPU of http steps', unit: 'µs/step', note: costNote },
        {
          [tock.name]: figure(postgres),
        },
      ),
    ];
  } finally {
    for (const { close } of all) close();
    await served.stop();
    await run.close(database);
  }
}

/** Durable steps: what one costs, and a task of ten of them beside the peers that have steps. */
export const groups: Group[] = [
  {
    name: 'steps',
    cases: [...flows.map(({ name }) => name), 'http steps'],
    slow: true,
    async run(run) {
      const cases: Case[] = [];
      for (const flow of flows)
        if (run.wants(flow.name)) cases.push(...(await flowCases(run, flow)));
      if (run.wants('http steps')) cases.push(...(await httpCases(run)));
      return cases;
    },
  },
];
