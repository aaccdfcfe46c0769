import { expect, test } from 'vitest';
import { tock } from './tock.ts';
import { transports } from './transports.ts';

const { env, connect } = transports('enqueue,read,admin');
let count = 0;

const cli = (...args: string[]) => tock(['schedule', ...args], { env: env() });

test('a schedule is put, listed, shown, paused, resumed, run and dropped', async () => {
  const name = `nightly${++count}`;
  const queue = `q${count}`;
  expect(await cli('list', '--queue', queue)).toMatchObject({ err: 'There are no schedules.\n' });
  const time = ['--cron', '0 3 * * *', '--zone', 'Europe/Berlin', '--overlap', 'skip'];
  const task = ['--payload', '{"a": 12345678901234567890}', '--options', '{"priority": 2}'];
  const put = await cli('put', name, queue, ...time, ...task);
  expect(put.err).toBe('');
  const cron = '0 3 \\* \\* \\* \\(Europe/Berlin\\)';
  expect(put.out).toMatch(new RegExp(`^${name}: active, ${cron}, into ${queue}\nnext \\d{4}-`));
  expect((await cli('list', '--queue', queue)).out).toMatch(
    new RegExp(`${name} +active +${queue} +${cron} +\\d{4}-`),
  );
  const id = (await cli('run', name, '--request-id', 'r')).out.trim();
  expect((await cli('run', name, '--request-id', 'r')).out.trim()).toBe(id);
  const kept = await (await connect()).query('select payload::text from tock.task($1)', [id]);
  expect(kept.rows).toEqual([{ payload: '{"a": 12345678901234567890}' }]);
  expect((await cli('pause', name)).out).toMatch(/: paused, /);
  expect((await cli('resume', name)).out).toMatch(/: active, .*\nnext .*\nlast run at /);
  const { out } = await cli('show', name, '--fires', '5', '--json');
  expect(JSON.parse(out)).toMatchObject({
    name,
    overlap: 'skip',
    last_task_id: id,
    fires: [{ outcome: 'run', task_id: id }],
  });
  expect((await cli('show', name, '--fires', '5')).out).toContain(`run  ${id}`);
  expect((await cli('next', name, '--count', '2')).out).toMatch(/^(.* 03:00:00\n){2}$/);
  expect((await cli('drop', name)).out).toBe(`${name} is dropped\n`);
  for (const args of [['show'], ['pause'], ['resume'], ['run'], ['drop'], ['next']]) {
    expect(await cli(...args, name), args[0]).toMatchObject({ code: 3 });
  }
});

test('schedules by period and by instant are shown, and mistakes name the option', async () => {
  expect((await cli('put', 'p', 'q', '--every', '90', '--jitter', '5')).out).toMatch(/every 90 s/);
  const once = await cli('put', 'o', 'q', '--run-at', '2090-01-01T00:00:00Z');
  expect(once.out).toContain('at 2090-01-01 00:00:00, into q\nnext 2090-01-01 00:00:00');
  const twice = await cli('put', 'x', 'q', '--cron', '@daily', '--every', '5');
  expect(twice).toMatchObject({ code: 2 });
  expect(twice.err).toContain('one of cron, --every and --run-at');
  expect((await cli('put', 'x', 'q', '--cron', '61 * * * *')).err).toMatch(/minute field.*'61'/);
  expect((await cli('put', 'x', 'q', '--cron', '@daily', '--zone', 'X')).err).toContain('--zone');
});

test('the next fires of an expression are listed', async () => {
  const zone = ['--zone', 'Pacific/Kiritimati'];
  const { out } = await cli('next', '0 9 * * MON-FRI', ...zone, '--count', '3');
  expect(out).toMatch(/^(\d{4}-\d\d-\d\d 19:00:00Z {2}\d{4}-\d\d-\d\d 09:00:00\n){3}$/);
  expect(await cli('next', '@daily')).toMatchObject({ code: 0 });
  expect(await cli('next', '* * *')).toMatchObject({ code: 2 });
  expect(await cli('next', 'name', '--zone', 'UTC')).toMatchObject({ code: 2 });
});
