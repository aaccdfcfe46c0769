import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type pg from 'pg';

const questions: [string, string][] = [
  ['task', 'select to_jsonb(t) as found from tock.task($1) t'],
  [
    'runs',
    `select to_jsonb(r) - 'payload' || jsonb_build_object('id', r.position << 20 | r.stream, 'epoch', tock.epoch_of(r.position)) as found
     from tock.runs r where (r.payload ->> 'n')::bigint = $2 order by r.position`,
  ],
  [
    'waiting',
    `select to_jsonb(w) as found from tock.waiting w where (w.payload ->> 'n')::bigint = $2`,
  ],
  [
    'leases',
    `select to_jsonb(l) as found from tock.runs r join tock.leases l
       on l.stream = r.stream and r.position > l.after_position and r.position <= l.last_position
     where (r.payload ->> 'n')::bigint = $2 order by r.position`,
  ],
  [
    'results',
    `select to_jsonb(e) as found from tock.runs r join tock.results e using (stream, position)
     where (r.payload ->> 'n')::bigint = $2 order by r.position`,
  ],
  [
    'marks',
    `select to_jsonb(m) as found from tock.runs r join tock.marks m using (stream, position)
     where (r.payload ->> 'n')::bigint = $2 order by r.position`,
  ],
  [
    'promotions',
    `select to_jsonb(p) as found from tock.promotions p
     where p.position = $1::bigint >> 20 or p.run_id in (
       select r.position << 20 | r.stream from tock.runs r where (r.payload ->> 'n')::bigint = $2)`,
  ],
  [
    'streams',
    `select distinct to_jsonb(s) || jsonb_build_object('cursor', tock.cursor_of(s.number)) as found
     from tock.runs r join tock.streams s on s.number = r.stream where (r.payload ->> 'n')::bigint = $2`,
  ],
  ['epochs', 'select to_jsonb(e) as found from tock.epochs e order by e.number'],
  ['sequence', 'select to_jsonb(s) as found from (select last_value from tock.positions) s'],
];

/** Everything that the database and the journal know of one task, as text. */
export async function known(
  on: pg.Client,
  id: string,
  n: number,
  journal: string,
): Promise<string> {
  const lines: string[] = [];
  for (const [name, text] of questions) {
    const values = text.includes('$2') ? [id, n] : text.includes('$1') ? [id] : [];
    // $1 has to be used where $2 is
    const asked = text.includes('$2') && !text.includes('$1') ? text.replaceAll('$2', '$1') : text;
    const given = asked === text ? values : [n];
    const found = await on.query(asked, given).then(
      ({ rows }) => rows.map((row) => JSON.stringify(row.found)),
      (error) => [String(error)],
    );
    lines.push(`${name}:`, ...found.map((row) => `  ${row}`));
  }
  lines.push('what was said:', ...(await said(journal, n)));
  return `${lines.join('\n')}\n`;
}

/** The journal is long: it is read line by line. */
async function said(journal: string, n: number): Promise<string[]> {
  const found: string[] = [];
  for await (const line of createInterface({ input: createReadStream(journal) })) {
    if (!(line.includes(String(n)) || /^\["(accepted|un)/.test(line)) || !line.endsWith(']'))
      continue;
    const event = JSON.parse(line) as unknown[];
    if (!about(event, n)) continue;
    const runs =
      event[0] === 'claimed' ? (event[3] as number[][]).filter((run) => run[0] === n) : null;
    const short = runs ? [...event.slice(0, 3), runs] : event;
    found.push(`  ${JSON.stringify(short).slice(0, 300)}`);
  }
  return found;
}

function about(event: unknown[], n: number): boolean {
  const [kind, a, b, c] = event as [string, number, unknown, unknown];
  switch (kind) {
    case 'accepted':
      return n >= a && n < a + (b as string[]).length;
    case 'undone':
    case 'unsure':
      return n >= a && n < a + (b as number);
    case 'claimed':
      return (c as number[][]).some((run) => run[0] === n);
    case 'tried':
      return (b as number[]).includes(n);
    case 'done':
      return (c as number[]).includes(n);
    default:
      return a === n || b === n;
  }
}
