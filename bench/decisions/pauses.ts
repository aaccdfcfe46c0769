import pg from 'pg';
import { past } from './grown.ts';

/** How long each of the calls took that one session made after the other, while something went on. */
async function during(on: pg.Client, something: () => Promise<unknown>): Promise<number[]> {
  const taken: number[] = [];
  let going = true;
  const loop = (async () => {
    while (going) {
      const started = performance.now();
      await on.query("select tock.enqueue('pauses', '[{}]')");
      taken.push(performance.now() - started);
    }
  })();
  await something();
  going = false;
  await loop;
  return taken;
}

const at = (sorted: number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

function line(name: string, taken: number[]): string {
  const sorted = taken.toSorted((a, b) => a - b);
  const [half, most, worst] = [0.5, 0.99, 1].map((share) =>
    at(sorted, share).toFixed(1).padStart(7),
  );
  return `${name.padEnd(58)}${half} ${most} ${worst}   of ${taken.length}`;
}

/** Enqueue's pauses beside an idle reader that has read everything, in milliseconds. */
export async function pauses(url: string): Promise<void> {
  const [writer, worker, reader] = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      return client;
    }),
  );
  if (!writer || !worker || !reader) throw new Error('Three clients were meant to be there.');
  const times = async (count: number, statement: string) => {
    for (let n = 0; n < count; n++) {
      await worker.query(statement);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const read = async () => {
    await reader.query('begin isolation level repeatable read');
    for (const table of [
      'runs',
      'leases',
      'results',
      'marks',
      'waiting',
      'promotions',
      'streams',
    ]) {
      await reader.query(`select count(*) from tock.${table}`);
    }
  };
  try {
    await past(worker, 20);
    const doing: Record<string, () => Promise<unknown>> = {
      'nothing else': () => times(40, 'select 1'),
      'rotate() makes an epoch, 40 times': () =>
        times(
          40,
          'select tock.rotate(max(number) - tock.newest_epoch() + 1, 100000) from tock.epochs',
        ),
      'retain() tries to drop, 40 times': () =>
        times(40, 'update tock.epochs set drop_after = null; select tock.retain()'),
    };
    console.log(`\nenqueue of one, in ms${' '.repeat(37)} median     99%   worst`);
    await read();
    for (const [name, something] of Object.entries(doing)) {
      console.log(line(`beside an idle reader: ${name}`, await during(writer, something)));
    }
    await reader.query('commit');
    await worker.query('update tock.epochs set drop_after = null');
    const before = Number((await worker.query('select count(*) from tock.epochs')).rows[0].count);
    const taken = await during(writer, () => times(15, 'select tock.retain()'));
    const after = Number((await worker.query('select count(*) from tock.epochs')).rows[0].count);
    console.log(line(`no reader: retain() drops, ${before - after} times`, taken));
  } finally {
    for (const client of [writer, worker, reader]) await client.end();
  }
}
