import { connected } from '../cluster.ts';
import { payload } from '../payload.ts';
import type { Case, Figure, Group, Run, TestDatabase, Work } from '../types.ts';

/** Work of PostgreSQL that no queue can avoid: rows by COPY, and an empty statement. */
async function measured(run: Run): Promise<Case[]> {
  const database = await run.open(run.floor);
  const { host } = run.stack.cluster;
  const [file, select] = [`${host.folder}/copied`, `${host.folder}/select.sql`];
  const name = new URL(database.url).pathname.slice(1);
  // Only a superuser may COPY from a file.
  const admin: TestDatabase = {
    url: run.superUrl(name),
    client: await connected(run.superUrl(name)),
  };
  try {
    await host.write(file, `${payload(100)}\n`.repeat(1000));
    await host.write(select, 'select 1;\n');
    const copies = async () => {
      const work: Work = { by: 'pgbench', script: `copy rows (payload) from '${file}';\n` };
      const got = await run.measure(admin, run.floor, [{ work, clients: run.clients }]);
      return got.enqueued / got.seconds;
    };
    const selects = async () => {
      const argv = ['-n', '-M', 'prepared', '-f', select, '-c', String(run.clients), '-j', '2'];
      const out = await host.run([
        ...[`${host.bin}/pgbench`, ...argv, '-T', String(Math.ceil(run.seconds)), database.url],
      ]);
      return Number(/^tps = ([\d.]+)/m.exec(out)?.[1]);
    };
    const figures = await run.interleave([
      { name: 'COPY 1000', window: copies },
      { name: 'select 1', window: selects },
    ]);
    const caseOf = (of: string, unit: string): Case => {
      const { value, windows, note = '' }: Figure = figures[of] ?? { value: null, windows: [] };
      return {
        name: `floor: ${of}`,
        unit,
        tock: null,
        floor: value,
        peers: {},
        note,
        windows: { floor: windows },
      };
    };
    return [caseOf('COPY 1000', 'rows/s'), caseOf('select 1', 'statements/s')];
  } finally {
    await admin.client.end();
    for (const path of [file, select]) await host.remove(path);
    await run.close(database);
  }
}

export const groups: Group[] = [{ name: 'floors', run: measured }];
