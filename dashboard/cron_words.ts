import cronstrue from 'cronstrue';

const isAny = (field = '*') => field === '*' || field === '?';

/** A cron expression in words; null if the library cannot describe it. */
export function cronInWords(cron: string): string | null {
  const fields = cron.trim().split(/\s+/);
  const weekday = fields.at(-1) ?? '';
  // Tock has + before weekdays for "both days"; the library has an option instead.
  const both = weekday.startsWith('+');
  const plain = [...fields.slice(0, -1), weekday.replace('+', '')].join(' ');
  const options = { use24HourTimeFormat: true, logicalAndDayFields: both };
  try {
    const words = cronstrue.toString(plain, options);
    const hasTwoDays = fields.length > 1 && !isAny(fields.at(-3)) && !isAny(weekday);
    return hasTwoDays && !both ? `${words} (one of the two days is enough)` : words;
  } catch {
    return null;
  }
}
