import { afterAll, expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/paths.ts';
import { anyPort } from '../../scripts/stack/ports.ts';
import { execute } from '../cli/tock.ts';
import { processesOf, removeHome, temporaryHome } from '../stack/start_process.ts';

const home = temporaryHome();
afterAll(() => removeHome(home));

test('the demo starts a stack, kills a worker, and all results are correct', async () => {
  const [postgres, pgbouncer, worker] = [await anyPort(), await anyPort(), await anyPort()];
  const { code, out, err } = await execute(
    [process.execPath, 'scripts/demo.ts', '--files', '200'],
    {
      cwd: checkout,
      env: {
        DATABASE_URL: '',
        TOCK_HOME: home,
        TOCK_POSTGRESQL_PORT: String(postgres),
        TOCK_PGBOUNCER_PORT: String(pgbouncer),
        TOCK_WORKER_PORT: String(worker),
      },
    },
  );
  expect({ code, err }, out).toEqual({ code: 0, err: '' });
  const row = (name: string) =>
    Number(new RegExp(`^\\| ${name} +\\| +([\\d.]+) \\|$`, 'm').exec(out)?.[1]);
  expect(row('tasks')).toBe(200);
  expect(row('right')).toBe(200);
  expect(row('wrong')).toBe(0);
  expect(row('lost')).toBeGreaterThanOrEqual(1);
  expect(row('runs')).toBe(200 + row('lost'));
  expect(row('seconds')).toBeGreaterThan(0);
  expect(out).toMatch(/kill -9 of worker-\d/);
  expect(out).toMatch(/reaped by (pg_cron's tock:(reap|tick)|the Worker's alarm)/);
  expect(processesOf(home)).toEqual([]);
});

test.each([
  ['--files', 'many', '--files must be a whole number'],
  ['--through', 'luck', '--through must be one of worker, consumer, push.'],
])('%s %s is refused', async (option, value, words) => {
  const argv = [process.execPath, 'scripts/demo.ts', option, value];
  const { code, out } = await execute(argv, { cwd: checkout });
  expect(out).toContain(words);
  expect(code).toBe(2);
});
