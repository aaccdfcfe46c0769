import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { checkout } from '../../scripts/stack/paths.ts';

// esbuild is a dependency of wrangler, so it is installed.
const esbuild: typeof import('esbuild') = createRequire(import.meta.url)('esbuild');

export type ClientBundle = {
  code: string;
  bytes: number;
  compressed: number;
  /** The files that the bundle contains. */
  inputs: string[];
  /** The modules that the bundle still imports. */
  imports: string[];
};

/** Bundles a script for browsers. It imports the client by the package's names, like `tock/client`. */
export async function clientBundle(script: string): Promise<ClientBundle> {
  const { metafile, outputFiles } = await esbuild.build({
    stdin: {
      loader: 'ts',
      contents: script.replaceAll(
        /'tock\/client(\/\w+)?'/g,
        (_, part = '/index') => `'./client${part}.ts'`,
      ),
      resolveDir: checkout,
    },
    absWorkingDir: checkout,
    bundle: true,
    external: ['file:*', 'node:*'],
    format: 'esm',
    minify: true,
    metafile: true,
    platform: 'browser',
    write: false,
  });
  const [{ contents, text }] = outputFiles as [import('esbuild').OutputFile];
  const [output] = Object.values(metafile.outputs);
  return {
    code: text,
    bytes: contents.length,
    compressed: gzipSync(contents, { level: 9 }).length,
    inputs: Object.keys(metafile.inputs),
    imports: output?.imports.map(({ path }) => path) ?? [],
  };
}
