import { type Api, expectOk } from './api.ts';
import { type Crew, crew, type Worker } from './crew.ts';

export type Place = { url: string; key: string; queue: string; root: string };

const patienceSeconds = 180;
const say = (line: string) => process.stdout.write(`${line}\n`);

async function stillRunning(call: Api, ids: string[]): Promise<number> {
  // What the dead worker had sent before it died may still arrive.
  await new Promise((wake) => setTimeout(wake, 1000));
  const asked = ids.map((id) => expectOk<{ state: string }>(call(`/v1/tasks/${id}`)));
  return (await Promise.all(asked)).filter((task) => task.state === 'running').length;
}

/** Waits until `count` tasks are completed; an error when nothing moves any more. */
async function allDone(team: Crew, count: number, stopping: AbortSignal): Promise<void> {
  let seen = -1;
  let moved = 0;
  let told = performance.now();
  while (team.completed() < count) {
    stopping.throwIfAborted();
    const now = performance.now();
    if (team.completed() !== seen) moved = now;
    seen = team.completed();
    if (now - moved > patienceSeconds * 1000) {
      throw new Error(`Nothing moved for ${patienceSeconds} s: see "npm run tock status".`);
    }
    if (now - told > 5000) {
      const still = now - moved > 2000 ? `, waiting for ${Math.round((now - moved) / 1000)} s` : '';
      say(`  ${seen} of ${count} done${still}`);
      told = now;
    }
    await new Promise((wake) => setTimeout(wake, 50));
  }
}

/** Four workers until all is done, one of them killed -9 while it surely holds a lease. */
export async function shift(call: Api, place: Place, count: number, stopping: AbortSignal) {
  const broken = new AbortController();
  let victim: Worker | null = null;
  const autopsy = async (dead: Worker, ids: string[]) => {
    await dead.ended;
    const held = await stillRunning(call, ids);
    if (held > 0) {
      say(`kill -9 of ${dead.name} (process ${dead.pid}), which held ${held} tasks.`);
      say("Its lease of 10 s runs out, then pg_cron or the Worker's alarm takes them back.");
      return;
    }
    say(`${dead.name} had completed just before the kill: another takes its place.`);
    victim = null;
    team.hire(`${dead.name}-again`);
  };
  const team = crew({
    ...place,
    onClaim(worker, ids) {
      if (victim || team.completed() < count / 3) return;
      victim = worker;
      worker.kill('SIGKILL');
      autopsy(worker, ids).catch((error) => broken.abort(error));
    },
    onLoss(worker) {
      if (worker !== victim) broken.abort(new Error(`${worker.name} ended by itself: see above.`));
    },
  });
  try {
    for (let n = 1; n <= 4; n++) team.hire(`worker-${n}`);
    await allDone(team, count, AbortSignal.any([stopping, broken.signal]));
  } finally {
    await team.stop();
  }
}
