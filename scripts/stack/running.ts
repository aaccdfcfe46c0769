import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { home } from './place.ts';
import { alive, gone, mark, type ProcessMark, signal } from './processes.ts';

/** `.tock/running.json`: who runs this checkout's stack, and what it started, for who finds it dead. */
type Running = {
  self: ProcessMark;
  url?: string;
  /** PostgreSQL ended, and is started again when another asks for it. */
  down?: boolean;
  started: Record<string, ProcessMark>;
};

const path = () => join(home(), 'running.json');

function current(): Running | null {
  try {
    return JSON.parse(readFileSync(path(), 'utf8'));
  } catch {
    return null;
  }
}

function claim(): boolean {
  const mine = `${path()}.${process.pid}`;
  writeFileSync(mine, JSON.stringify({ self: mark(process.pid), started: {} }), { mode: 0o600 });
  try {
    linkSync(mine, path());
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(mine);
  }
}

export type Taken = { taken: true } | { taken: false; url?: string; down: number | null };

/**
 * Makes this process the only one, ending what a killed one left; or says who already is. `down` is its pid where
 * its PostgreSQL ended.
 */
export async function take(note: (text: string) => void): Promise<Taken> {
  while (!claim()) {
    const other = current();
    if (other && alive(other.self)) {
      const down = other.down ? other.self.pid : null;
      return { taken: false, ...(other.url && { url: other.url }), down };
    }
    const dead = `${path()}.dead.${process.pid}`;
    try {
      renameSync(path(), dead);
    } catch {
      continue;
    }
    rmSync(dead);
    const left = Object.entries(other?.started ?? {}).filter(([, one]) => alive(one));
    if (left.length === 0) continue;
    note(
      `an earlier run was killed and left ${left.map(([name]) => name).join(', ')}: stopping it`,
    );
    const marks = left.map(([, one]) => one);
    // The newest first, as in an orderly stop.
    for (const one of marks.toReversed()) {
      signal(one.pid, 'SIGTERM');
      if (!(await gone([one], 5))) signal(-one.pid, 'SIGKILL');
    }
    await gone(marks, 5);
  }
  return { taken: true };
}

function update(change: (running: Running) => void): void {
  const running = current();
  if (running?.self.pid !== process.pid) return;
  change(running);
  const next = `${path()}.next`;
  writeFileSync(next, JSON.stringify(running), { mode: 0o600 });
  renameSync(next, path());
}

export function record(name: string, pid: number): void {
  update((running) => {
    running.started[name] = mark(pid);
  });
}

export function recordUrl(url: string): void {
  update((running) => {
    running.url = url;
  });
}

export function recordDown(down: boolean): void {
  update((running) => {
    running.down = down;
  });
}

export async function leave(): Promise<void> {
  if (current()?.self.pid === process.pid) rmSync(path());
}
