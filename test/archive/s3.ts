import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkout } from '../../scripts/stack/paths.ts';
import { anyPort } from '../../scripts/stack/ports.ts';
import { ended, run } from '../../scripts/stack/run.ts';
import { waitUntil } from '../sql/verbs.ts';

export type S3 = {
  /** The URL with the bucket. */
  url: string;
  settings: Record<'TOCK_ARCHIVE_URL' | 'TOCK_ARCHIVE_KEY_ID' | 'TOCK_ARCHIVE_SECRET', string>;
  stop(): Promise<void>;
};

const source = join(checkout, 'test', 'archive', 's3rver');
const place = join(checkout, '.tock', 's3rver');
// The only key that s3rver accepts.
const word = 'S3RVER';

async function installed(): Promise<string> {
  const program = join(place, 'node_modules', '.bin', 's3rver');
  if (existsSync(program)) return program;
  const fresh = `${place}.${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  cpSync(source, fresh, { recursive: true });
  const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ['npm'];
  await run([...npm, 'ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: fresh,
  });
  // Another process may have installed it meanwhile.
  if (!existsSync(place)) cpSync(fresh, place, { recursive: true, verbatimSymlinks: true });
  rmSync(fresh, { recursive: true });
  return program;
}

/** Starts an S3-compatible server with one bucket. */
export async function startS3(): Promise<S3> {
  const program = await installed();
  const folder = mkdtempSync(join(tmpdir(), 'tock-s3-'));
  const port = await anyPort();
  const args = ['-d', folder, '-a', '127.0.0.1', '-p', String(port), '--silent'];
  args.push('--no-vhost-buckets', '--configure-bucket', 'history');
  const child: ChildProcess = spawn(process.execPath, [program, ...args], { stdio: 'ignore' });
  const over = ended(child);
  const url = `http://127.0.0.1:${port}/history`;
  await waitUntil('the server answers', () => fetch(url).then(Boolean, () => false));
  return {
    url,
    settings: {
      TOCK_ARCHIVE_URL: `${url}/tock-files`,
      TOCK_ARCHIVE_KEY_ID: word,
      TOCK_ARCHIVE_SECRET: word,
    },
    async stop() {
      child.kill();
      await over;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
