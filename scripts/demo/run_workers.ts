import { type Api, expectOk } from './api.ts';
import { startWorkers, type Worker, type Workers } from './workers.ts';

export type WorkerTarget = { url: string; key: string; queue: string; root: string };

const MAX_IDLE_SECONDS = 180;
const print = (line: string) => process.stdout.write(`${line}\n`);

async function stillRunning(call: Api, ids: string[]): Promise<number> {
  // This pause lets the calls arrive that the worker sent before it was killed.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const requests = ids.map((id) => expectOk<{ state: string }>(call(`/v1/tasks/${id}`)));
  return (await Promise.all(requests)).filter((task) => task.state === 'running').length;
}

/** Waits until `count` tasks are completed. Throws if no task is completed for too long. */
async function allDone(team: Workers, count: number, stopping: AbortSignal): Promise<void> {
  let seen = -1;
  let moved = 0;
  let printedAt = performance.now();
  while (team.completed() < count) {
    stopping.throwIfAborted();
    const time = performance.now();
    if (team.completed() !== seen) moved = time;
    seen = team.completed();
    if (time - moved > MAX_IDLE_SECONDS * 1000) {
      throw new Error(`Nothing changed for ${MAX_IDLE_SECONDS} s: see "npm run tock status".`);
    }
    if (time - printedAt > 5000) {
      const waitText =
        time - moved > 2000 ? `, waiting for ${Math.round((time - moved) / 1000)} s` : '';
      print(`  ${seen} of ${count} done${waitText}`);
      printedAt = time;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Runs four workers until all tasks are done, and kills one of them (kill -9) while it certainly holds a lease. */
export async function runWorkers(
  call: Api,
  target: WorkerTarget,
  count: number,
  stopping: AbortSignal,
) {
  const broken = new AbortController();
  let victim: Worker | null = null;
  const checkVictim = async (dead: Worker, ids: string[]) => {
    await dead.ended;
    const held = await stillRunning(call, ids);
    if (held > 0) {
      print(`kill -9 of ${dead.name} (process ${dead.pid}), which held ${held} tasks.`);
      print("Its lease of 10 s expires, then pg_cron or the Worker's alarm reaps its tasks.");
      return;
    }
    print(`${dead.name} had completed just before the kill: another worker is chosen.`);
    victim = null;
    team.hire(`${dead.name}-again`);
  };
  const team = startWorkers({
    ...target,
    onClaim(worker, ids) {
      if (victim || team.completed() < count / 3) return;
      victim = worker;
      worker.kill('SIGKILL');
      checkVictim(worker, ids).catch((error) => broken.abort(error));
    },
    onLoss(worker) {
      if (worker !== victim)
        broken.abort(new Error(`${worker.name} ended unexpectedly: see above.`));
    },
  });
  try {
    for (let n = 1; n <= 4; n++) team.hire(`worker-${n}`);
    await allDone(team, count, AbortSignal.any([stopping, broken.signal]));
  } finally {
    await team.stop();
  }
}
