import { connected } from '../cluster.ts';
import { payload } from '../payload.ts';
import { pgbench } from '../pgbench.ts';
import type { Case, Figure, Group, Place, Run, Work } from '../types.ts';

/** What has no counterpart in a queue: rows by COPY, and a statement that does nothing. */
async function measured(run: Run): Promise<Case[]> {
  const place = await run.open(run.floor);
  const { host } = run.stack.cluster;
  const file = `${host.folder}/copied`;
  const name = new URL(place.url).pathname.slice(1);
  // only a superuser may COPY from a file
  const admin: Place = { url: run.superUrl(name), client: await connected(run.superUrl(name)) };
  try {
    await host.write(file, `${payload(100)}\n`.repeat(1000));
    const copies = async () => {
      const work: Work = { by: 'pgbench', script: `copy rows (payload) from '${file}';\n` };
      const got = await run.measure(admin, run.floor, [{ work, clients: run.clients }]);
      return got.enqueued / got.seconds;
    };
    const selects = async () => {
      const load = { clients: run.clients, seconds: run.seconds };
      const { calls, seconds } = await pgbench(host, place.url, 'select 1;\n', load);
      return calls / seconds;
    };
    const figures = await run.interleave([
      { name: 'COPY 1000', window: copies },
      { name: 'select 1', window: selects },
    ]);
    const one = (of: string, unit: string): Case => {
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
    return [one('COPY 1000', 'rows/s'), one('select 1', 'statements/s')];
  } finally {
    await admin.client.end();
    await host.remove(file);
    await run.close(place);
  }
}

export const groups: Group[] = [{ name: 'floors', run: measured }];
