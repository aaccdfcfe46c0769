import type pg from 'pg';
import { connected } from './cluster.ts';
import type { Case, Figure, Run, TestDatabase } from './types.ts';
import { caseOf, figure, median, tockOf } from './windows.ts';

type Explained = { 'QUERY PLAN': [{ Plan: Record<string, number> }] };

async function pagesOf(client: pg.Client, statement: string): Promise<number> {
  const text = `explain (analyze, buffers, timing off, format json) ${statement}`;
  const { rows } = await client.query<Explained>(text);
  const plan = rows[0]?.['QUERY PLAN'][0].Plan ?? {};
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
}

type Touched = {
  claim: number;
  complete: number;
  most: { claim: number; complete: number };
};

/**
 * The pages that a claim of one task and its completion touch, including all functions that they call. Medians and
 * maximums of 25 calls, in a session that has done both before.
 */
export async function touched(database: TestDatabase): Promise<Touched> {
  const client = await connected(database.url);
  try {
    const busiest =
      'select queue from tock.streams where awake group by queue order by count(*) desc limit 1';
    const { rows } = await client.query(busiest);
    const claims: number[] = [];
    const completes: number[] = [];
    for (let n = -15; n < 25; n++) {
      const call = `tock.claim(p_queue => '${rows[0].queue}', p_worker => 'pages', p_own_transaction => true)`;
      const claim = await pagesOf(client, `select * from ${call}`);
      const token = `select token from tock.leases l where l.closed_at is null and l.worker = 'pages'`;
      const lease = (await client.query(token)).rows[0]?.token;
      if (!lease) throw new Error('There was no task to claim, so no pages were counted.');
      const complete = await pagesOf(client, `select * from tock.complete('${lease}')`);
      if (n >= 0) {
        claims.push(claim);
        completes.push(complete);
      }
    }
    return {
      claim: median(claims) ?? 0,
      complete: median(completes) ?? 0,
      most: { claim: Math.max(...claims), complete: Math.max(...completes) },
    };
  } finally {
    await client.end();
  }
}

/** The pages that an UPDATE by primary key touches. */
async function leastPages(run: Run): Promise<Figure> {
  const database = await run.open(run.floor);
  try {
    return figure(await pagesOf(database.client, 'update targets set updates = 1 where id = 1'));
  } finally {
    await run.close(database);
  }
}

/** The count for the large database, with the small one's in the note. */
async function touchedCases(
  run: Run,
  name: string,
  small: { label: string; of: Touched },
  large: { label: string; of: Touched },
): Promise<Case[]> {
  const floor = await leastPages(run);
  return (['claim', 'complete'] as const).map((verb) => {
    const largeText = `${large.label} ${large.of[verb]} (at most ${large.of.most[verb]})`;
    const note = `${largeText}, ${small.label} ${small.of[verb]} (at most ${small.of.most[verb]})`;
    run.say(`${name}: pages of ${verb}: ${note}`);
    const named = { name: `${name}: pages of ${verb}`, unit: 'pages', note };
    return caseOf(run, named, { [tockOf(run).name]: figure(large.of[verb]), floor });
  });
}

/** Compares the pages that calls touch in two existing databases. */
export async function touchedTwins(
  run: Run,
  name: string,
  databases: { label: string; database: TestDatabase }[],
): Promise<Case[]> {
  const [small, large] = [databases.at(0), databases.at(-1)];
  if (!small || !large) return [];
  const of = async (sample: { label: string; database: TestDatabase }) => ({
    label: sample.label,
    of: await touched(sample.database),
  });
  return touchedCases(run, name, await of(small), await of(large));
}
