import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { alive, identify } from '../../scripts/stack/processes.ts';
import { acquire, release } from '../../scripts/stack/running.ts';
import { ownCluster, stackInfo } from '../database.ts';
import { removeHome, temporaryHome } from './start_process.ts';

afterEach(() => vi.unstubAllEnvs());

test('the next run stops processes that a killed run has left', async () => {
  const home = temporaryHome();
  vi.stubEnv('TOCK_HOME', home);
  const orphan = spawn('sleep', ['600'], { detached: true, stdio: 'ignore' });
  const left = identify(orphan.pid ?? 0);
  const running = { self: { pid: process.pid, born: 'long ago' }, started: { PgBouncer: left } };
  writeFileSync(join(home, 'running.json'), JSON.stringify(running));
  const notes: string[] = [];
  expect(await acquire((text) => notes.push(text))).toEqual({ taken: true });
  expect(alive(left)).toBe(false);
  expect(notes.join()).toContain('left PgBouncer');
  expect(await acquire(() => {})).toMatchObject({ taken: false });
  await release();
  removeHome(home);
});

test('an old postmaster.pid with the pid of another process does not prevent a start', async ({
  skip,
}) => {
  const own = await ownCluster();
  try {
    const client = await own.connect(own.superUrl);
    const { rows } = await client.query("select current_setting('data_directory') as data");
    if (!existsSync(rows[0].data)) skip('the cluster is in a container');
    await own.kill9();
    const stranger = stackInfo().postmasterPid ?? process.pid;
    writeFileSync(join(rows[0].data, 'postmaster.pid'), `${stranger}\n${rows[0].data}\n`);
    await own.start();
    const again = await own.connect();
    expect((await again.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
  } finally {
    await own.drop();
  }
});
