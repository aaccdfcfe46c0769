import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { enqueue, numberedTasks } from '../sql/verbs.ts';
import { execute, main, tockProcess } from './tock.ts';
import { transports } from './transports.ts';

const { env, connect } = transports('read');
const folder = mkdtempSync(join(tmpdir(), 'tock-export-'));
afterAll(() => rmSync(folder, { recursive: true }));
/** More than two pages of 1,000. */
const AMOUNT = 2500;
beforeAll(async () => {
  await enqueue(await connect(), 'many', numberedTasks(AMOUNT));
});

/** Runs a line of bash, in which "$@" is the command of the CLI with its arguments. */
const shell = (line: string, args: string[], env: NodeJS.ProcessEnv) =>
  execute(['bash', '-c', line, 'bash', process.execPath, main, ...args], { env, cwd: tmpdir() });

test('a failed write is reported, and the export fails', async () => {
  const full = 'ENOSPC: no space left on device, write';
  expect(await shell('"$@" > /dev/full', ['export', 'many'], env())).toEqual({
    code: 1,
    out: '',
    err: expect.stringContaining(full),
  });
  expect(await shell('"$@" > /dev/full', ['tasks', 'many'], env())).toEqual({
    code: 1,
    out: '',
    err: expect.stringContaining(`stdout cannot be written: ${full}.\n`),
  });
});

test('if the reader closes its input, the export reports the cursor to continue at', async () => {
  const piped = 'set -o pipefail; "$@" | head -n 1';
  const { code, out, err } = await shell(piped, ['export', 'many'], env());
  expect(code).toBe(1);
  expect(out).toMatch(/^\{.*\}\n$/);
  expect(err).toMatch(/^The reader of the export has closed its input\.\n/);
  expect(await shell(piped, ['tasks', 'many', '--limit', '1000'], env())).toEqual({
    code: 0,
    out: expect.stringMatching(/^.+\n$/),
    err: expect.stringMatching(/^(There may be more.*\n)?$/),
  });
});

test('after a full disk the file ends with a whole page, and the export can continue there', async () => {
  const file = join(folder, 'many.jsonl');
  const args = ['export', 'many', '--out', file];
  const whole = (await tockProcess(['export', 'many'], { env: env() })).out;
  const first = whole.split('\n').slice(0, 1000).join('\n');
  // One page and a half, in the units of `ulimit -f`: 1,024 bytes.
  const limit = Math.ceil((Buffer.byteLength(first) * 1.5) / 1024);
  const limited = `trap '' XFSZ; ulimit -f ${limit}; exec "$@"`;
  const { code, err } = await shell(limited, args, env());
  expect([code, err]).toEqual([1, expect.stringMatching(/^EFBIG: .*\n1000 tasks are written/)]);
  expect(readFileSync(file, 'utf8')).toBe(`${first}\n`);
  const [, cursor = ''] = /--cursor (\w+)/.exec(err) ?? [];
  const on = await tockProcess([...args, '--cursor', cursor], { env: env() });
  expect(on).toMatchObject({ code: 0, err: '' });
  expect(readFileSync(file, 'utf8')).toBe(whole);
  // If no whole page was written, the file is removed.
  const none = join(folder, 'none.jsonl');
  const tiny = `trap '' XFSZ; ulimit -f 1; exec "$@"`;
  expect(await shell(tiny, ['export', 'many', '--out', none], env())).toMatchObject({ code: 1 });
  expect(existsSync(none)).toBe(false);
});
