import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Api, expectOk } from './api.ts';

export type Run = { id: string; state: string; worker: string | null; ended_at: string | null };

type Task = { id: string; state: string; payload: unknown; result: unknown; runs: Run[] };

export type Verdict = { runs: number; lost: Run[]; failed: number; right: number; wrong: string[] };

type Hashed = { sha256: string; lines: number };

function direct(root: string, path: string): Hashed {
  const bytes = readFileSync(join(root, path));
  return { sha256: hash('sha256', bytes), lines: bytes.toString('latin1').split('\n').length - 1 };
}

function fault(task: Task, path: string, root: string): string | null {
  const done = task.runs.filter((run) => run.state === 'done').length;
  if (task.state !== 'done') return `it is ${task.state}`;
  if (done !== 1) return `it was done ${done} times`;
  const { path: kept } = task.payload as { path: string };
  if (kept !== path) return `its payload names ${kept}`;
  // What a push was answered stands in its body.
  const { body, ...own } = task.result as Partial<Hashed> & { body?: Hashed };
  const { sha256, lines } = body ?? own;
  const expected = direct(root, path);
  return sha256 === expected.sha256 && lines === expected.lines
    ? null
    : `its result is ${sha256}, ${lines} lines, not ${expected.sha256}, ${expected.lines} lines`;
}

/** Asks for every task over HTTP, eight at a time, and compares it with its file. */
export async function check(
  call: Api,
  ids: string[],
  paths: string[],
  root: string,
  stopping: AbortSignal,
): Promise<Verdict> {
  const verdict: Verdict = { runs: 0, lost: [], failed: 0, right: 0, wrong: [] };
  let next = 0;
  const some = async () => {
    for (let at = next++; at < ids.length; at = next++) {
      stopping.throwIfAborted();
      const path = paths[at] ?? '';
      const task = await expectOk<Task>(call(`/v1/tasks/${ids[at]}`));
      verdict.runs += task.runs.length;
      verdict.lost.push(...task.runs.filter((run) => run.state === 'lost'));
      verdict.failed += task.runs.filter((run) => run.state === 'failed').length;
      const wrong = fault(task, path, root);
      if (wrong) verdict.wrong.push(`task ${ids[at]} (${path}): ${wrong}`);
      else verdict.right++;
    }
  };
  const tell = () => process.stdout.write(`  ${next} of ${ids.length} compared\n`);
  const timer = setInterval(tell, 5000);
  try {
    await Promise.all(Array.from({ length: 8 }, some));
  } finally {
    clearInterval(timer);
  }
  return verdict;
}
