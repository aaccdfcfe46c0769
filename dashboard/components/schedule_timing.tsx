import type { Answer } from '../../client/wire.ts';
import { cronInWords } from '../cron_words.ts';
import { duration } from '../format.ts';

type Schedule = Answer<'GET /v1/schedules'>['schedules'][number];

/** When a schedule fires, a cron expression also in words. */
export function Timing({ cron, every_seconds, time_zone }: Schedule) {
  if (!cron) return <>{every_seconds ? `every ${duration(every_seconds)}` : 'once'}</>;
  return (
    <>
      <code>{cron}</code> {time_zone}
      <span class="words">{cronInWords(cron)}</span>
    </>
  );
}
