import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { buildFolder } from '../../scripts/stack/build_folder.ts';
import { unpackPackage } from '../../scripts/stack/npm.ts';
import { home } from '../../scripts/stack/paths.ts';
import { silently } from '../../scripts/stack/step_reporter.ts';

type Runtime = { build: string; integrity: string; program: string; run: string[] };

/** Other runtimes, from npm packages for Linux on x64. This build of Bun also runs on processors without AVX2. */
export const runtimes: Record<string, Runtime> = {
  deno: {
    build: '@deno/linux-x64-glibc@2.9.6',
    integrity:
      'sha512-3md4TKLCuzsLDmfOoC5KN7NAZaxSVkMgm64vg6foD00JBADCpYS2/5QqXfzgnP5ZQz3iLP9vBQJtEgc116OAoQ==',
    program: 'deno',
    run: ['run', '--no-prompt', '--cached-only', '--allow-net=127.0.0.1', '--allow-env'],
  },
  bun: {
    build: '@oven/bun-linux-x64-baseline@1.4.5',
    integrity:
      'sha512-s8yMwYcFnnrA178gji0gZbkE2WVDej/Ti1x770oPfihxyRxSMNhGhiAQNXV53aDeraZxksdvKV/RAdQBCd0qPA==',
    program: 'bin/bun',
    run: ['run', '--no-install'],
  },
};

/** The command that runs a script with a runtime. The runtime is fetched if needed. */
export async function commandOf(name: string): Promise<string[]> {
  const { build, integrity, program, run } = runtimes[name] as Runtime;
  const folder = join(home(), name);
  await buildFolder(folder, `1 ${build} ${integrity}\n`, silently, async (fresh) => {
    await unpackPackage(fresh, build, integrity);
    chmodSync(join(fresh, program), 0o755);
  });
  return [join(folder, program), ...run];
}
