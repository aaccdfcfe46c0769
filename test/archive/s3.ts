import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkout } from '../../scripts/stack/paths.ts';
import { anyPort } from '../../scripts/stack/ports.ts';
import { ended } from '../../scripts/stack/run.ts';
import { installPackages } from '../packages.ts';
import { waitUntil } from '../sql/verbs.ts';

export type S3 = {
  /** The URL with the bucket. */
  url: string;
  settings: Record<'TOCK_ARCHIVE_URL' | 'TOCK_ARCHIVE_KEY_ID' | 'TOCK_ARCHIVE_SECRET', string>;
  stop(): Promise<void>;
};

// The only key that s3rver accepts.
const word = 'S3RVER';

/** Starts an S3-compatible server with one bucket. */
export async function startS3(): Promise<S3> {
  const place = await installPackages(join(checkout, 'test', 'archive', 's3rver'), 's3rver');
  const program = join(place, 'node_modules', '.bin', 's3rver');
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
