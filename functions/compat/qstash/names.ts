import { refusal } from '../../http/problem.ts';

/** The Tock queue of published messages. */
export const PUBLISHED = 'qstash';
/** Before a QStash name, so that no call reaches a queue or schedule that is not QStash's. */
export const PREFIX = 'qstash:';
export const GROUP_PREFIX = 'qstash-group:';

function prefixed(prefix: string, max: number, what: string) {
  const pattern = new RegExp(`^[\\w.:-]{1,${max - prefix.length}}$`);
  return (name: string): string => {
    if (pattern.test(name)) return prefix + name;
    const allowed = `1 to ${max - prefix.length} letters, digits and _ . : -`;
    throw refusal(400, `${what}: a name has ${allowed}`);
  };
}

export const tockQueue = prefixed(PREFIX, 100, 'queue');
export const tockSchedule = prefixed(PREFIX, 200, 'scheduleId');
export const tockGroup = prefixed(GROUP_PREFIX, 200, 'URL group');

/** The QStash name of a Tock queue or schedule, undefined without one. */
export const qstashName = (name: string): string | undefined =>
  name.startsWith(PREFIX) ? name.slice(PREFIX.length) : undefined;

export const isQstashQueue = (queue: string): boolean =>
  queue === PUBLISHED || queue.startsWith(PREFIX);
