import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { checkout } from '../../scripts/stack/paths.ts';

// wrangler brings it.
const esbuild: typeof import('esbuild') = createRequire(import.meta.url)('esbuild');

export type ClientBundle = {
  code: string;
  bytes: number;
  compressed: number;
  /** The files in it. */
  inputs: string[];
  /** What it still imports. */
  imports: string[];
};

/** JavaScript for a browser of a script that imports the client, as `tock/client` and so on. */
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
    external: ['file:*'],
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
