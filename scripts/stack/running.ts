import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { home } from './paths.ts';
import { alive, identify, type ProcessIdentity, signal, waitUntilEnded } from './processes.ts';

/**
 * `.tock/running.json`: the process that runs this checkout's stack and what it started, so that a later run can clean
 * up after it.
 */
type Running = {
  self: ProcessIdentity;
  url?: string;
  /** True if PostgreSQL has ended. Another `npm start` can ask for its restart. */
  down?: boolean;
  started: Record<string, ProcessIdentity>;
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
  const ownFile = `${path()}.${process.pid}`;
  writeFileSync(ownFile, JSON.stringify({ self: identify(process.pid), started: {} }), {
    mode: 0o600,
  });
  try {
    linkSync(ownFile, path());
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return false;
  } finally {
    rmSync(ownFile);
  }
}

export type Acquired = { taken: true } | { taken: false; url?: string; down: number | null };

/**
 * Makes this process the only one of the checkout, after it has ended what a killed one left. If another one runs,
 * returns it; `down` is its pid if its PostgreSQL has ended.
 */
export async function acquire(note: (text: string) => void): Promise<Acquired> {
  while (!claim()) {
    const previous = current();
    if (previous && alive(previous.self)) {
      const down = previous.down ? previous.self.pid : null;
      return { taken: false, ...(previous.url && { url: previous.url }), down };
    }
    const staleFile = `${path()}.dead.${process.pid}`;
    try {
      renameSync(path(), staleFile);
    } catch {
      continue;
    }
    rmSync(staleFile);
    const leftovers = Object.entries(previous?.started ?? {}).filter(([, leftover]) =>
      alive(leftover),
    );
    if (leftovers.length === 0) continue;
    note(
      `an earlier run was killed and left ${leftovers.map(([name]) => name).join(', ')}: stopping it`,
    );
    const leftProcesses = leftovers.map(([, leftover]) => leftover);
    // The newest process is stopped first, as in an orderly stop.
    for (const leftover of leftProcesses.toReversed()) {
      signal(leftover.pid, 'SIGTERM');
      if (!(await waitUntilEnded([leftover], 5))) signal(-leftover.pid, 'SIGKILL');
    }
    await waitUntilEnded(leftProcesses, 5);
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
    running.started[name] = identify(pid);
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

export async function release(): Promise<void> {
  if (current()?.self.pid === process.pid) rmSync(path());
}
