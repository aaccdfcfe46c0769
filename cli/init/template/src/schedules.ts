// `npm run schedules` creates the schedules, or changes them to what stands here.
import { tock } from './client.ts';

type Schedule = { name: string; next_fire_at: string };

const schedule = await tock.call<Schedule>('PUT', '/v1/schedules/daily-greeting', {
  queue: 'greetings',
  cron: '0 7 * * *',
  time_zone: 'Europe/Berlin',
  payload: { name: 'world' },
});
console.log(`${schedule.name}: next at ${schedule.next_fire_at}`);
