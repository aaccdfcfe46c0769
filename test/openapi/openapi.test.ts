import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openApiDocument } from '../../scripts/docs/openapi.ts';
import { checkout } from '../../scripts/stack/paths.ts';
import { attempt, run } from '../../scripts/stack/run.ts';
import { type ServedApp, serveApp } from '../cli/served.ts';
import { type Service, service } from '../http/service.ts';
import { installPackages } from '../packages.ts';

// The tools are 70 MB with a TypeScript of their own, since openapi-typescript runs on version 5 only.
const source = import.meta.dirname;
const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
let folder: string;
let bin: (name: string) => string;
let tock: Service;
let served: ServedApp;

beforeAll(async () => {
  const tools = await installPackages(source, 'openapi');
  bin = (name) => join(tools, 'node_modules', '.bin', name);
  // The programs find their packages in the folder above.
  folder = join(tools, `run-${process.pid}`);
  mkdirSync(folder);
  for (const name of ['redocly.yaml', 'openapi-ts.config.mjs'])
    cpSync(join(source, name), join(folder, name));
  cpSync(join(source, 'tsconfig.clients.json'), join(folder, 'tsconfig.json'));
  cpSync(join(source, 'clients'), folder, { recursive: true });
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(await openApiDocument()));
  tock = await service();
  served = await serveApp(tock.database);
});
afterAll(async () => {
  served.close();
  await tock.database.drop();
  rmSync(folder, { recursive: true });
});

test('redocly lint finds no error and no warning, and finds a mistake', async () => {
  const lint = (file: string) => attempt([bin('redocly'), 'lint', file], { cwd: folder, env });
  const { code, output } = await lint('openapi.json');
  expect([code, output]).toEqual([0, expect.not.stringMatching(/warning|error/i)]);
  const { paths, ...rest } = await openApiDocument();
  delete paths['/v1/tick']?.post?.responses['422'];
  Object.assign(paths['/v1/key']?.get ?? {}, { operationId: 'listTasks' });
  writeFileSync(join(folder, 'wrong.json'), JSON.stringify({ ...rest, paths }));
  const wrong = await lint('wrong.json');
  expect([wrong.code, wrong.output]).toEqual([1, expect.stringContaining('operationId')]);
});

test('generated clients have types that hold, and enqueue, claim, complete and list', async () => {
  await run([bin('openapi-typescript'), 'openapi.json', '--output', 'schema.d.ts'], {
    cwd: folder,
  });
  await run([bin('openapi-ts'), '--file', 'openapi-ts.config.mjs'], { cwd: folder });
  for (const tsc of [bin('tsc'), join(checkout, 'node_modules', '.bin', 'tsc')])
    await run([tsc, '--project', '.'], { cwd: folder });
  for (const program of ['openapi_fetch.ts', 'hey_api.ts']) {
    const output = await run([process.execPath, '--no-warnings', program], {
      cwd: folder,
      env: { ...process.env, TOCK_URL: served.url, TOCK_KEY: tock.key },
    });
    const { ids, pages, ...seen } = JSON.parse(output);
    expect(seen, program).toEqual({
      claimed: [{ n: 2 }, { n: 1 }],
      completed: { completed: 2, refused: [] },
      refused: { status: 422, field: 'priority' },
      metrics: '# HELP tock_',
    });
    expect(ids).toHaveLength(3);
    expect(pages.map((page: string[]) => page.length)).toEqual([2, 1]);
    expect(pages.flat().sort()).toEqual(ids.sort());
  }
});
