import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { buildModules } from './modules/build.ts';
import { checkout } from './stack/paths.ts';
import { run } from './stack/run.ts';

const MOST_BYTES = 1_000_000;

export type Bundle = { code: string; bytes: number; compressed: number };

/**
 * Builds what `wrangler deploy` would upload for the Worker in `entry`. It needs no network and no account, and throws
 * if the bundle is too large.
 */
export async function bundle(entry = 'functions/index.ts'): Promise<Bundle> {
  await buildModules();
  const folder = mkdtempSync(join(tmpdir(), 'tock-bundle-'));
  try {
    const wrangler = join(checkout, 'node_modules', '.bin', 'wrangler');
    const quiet = { WRANGLER_SEND_METRICS: 'false', TOCK_BUILT: '1', XDG_CONFIG_HOME: folder };
    await run([process.execPath, wrangler, 'deploy', entry, '--dry-run', '--outdir', folder], {
      cwd: checkout,
      env: { ...process.env, ...quiet },
    });
    const code = readFileSync(join(folder, basename(entry).replace(/ts$/, 'js')));
    const compressed = gzipSync(code, { level: 9 }).length;
    if (compressed > MOST_BYTES) {
      throw new Error(`The bundle is ${compressed} bytes compressed, over ${MOST_BYTES}.`);
    }
    return { code: code.toString(), bytes: code.length, compressed };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const { bytes, compressed } = await bundle();
  const kb = (size: number) => `${Math.round(size / 1000)} kB`;
  process.stdout.write(`The Worker's bundle: ${kb(bytes)}, ${kb(compressed)} compressed.\n`);
}
