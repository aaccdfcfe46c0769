/** A generator of random numbers: with the seed of a failure it repeats that failure. */
export function seededPicker(seed: number) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const whole = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  const pick = <T>(of: readonly T[]): T => of[whole(0, of.length - 1)] as T;
  return { next, whole, one: pick };
}

export type SeededPicker = ReturnType<typeof seededPicker>;

const months = 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC'.split(' ');
const weekdays = 'SUN MON TUE WED THU FRI SAT'.split(' ');

function item({ whole, next }: SeededPicker, low: number, high: number): string {
  const from = whole(low, high);
  const to = whole(from, high);
  const step = whole(1, high - low + 1);
  const kind = next();
  if (kind < 0.55) return `${from}`;
  if (kind < 0.75) return `${from}-${to}`;
  if (kind < 0.85) return `*/${step}`;
  if (kind < 0.95) return `${from}-${to}/${step}`;
  return `${from}/${step}`;
}

function field(draw: SeededPicker, low: number, high: number, star: number): string {
  if (draw.next() < star) return draw.next() < 0.1 ? '?' : '*';
  const items = draw.next() < 0.75 ? 1 : draw.whole(2, 4);
  return Array.from({ length: items }, () => item(draw, low, high)).join(',');
}

function dayField(draw: SeededPicker): string {
  const kind = draw.next();
  if (kind < 0.06) return 'L';
  if (kind < 0.1) return 'LW';
  if (kind < 0.14) return `${draw.whole(1, 28)},L`;
  if (kind < 0.22) return `${draw.whole(1, 31)}W`;
  return field(draw, 1, 31, 0.55);
}

function monthField(draw: SeededPicker): string {
  const kind = draw.next();
  if (kind < 0.06) return draw.one(months);
  if (kind < 0.1) return `${months[draw.whole(0, 5)]}-${months[draw.whole(6, 11)]}`;
  return field(draw, 1, 12, 0.7);
}

function weekdayField(draw: SeededPicker): string {
  const kind = draw.next();
  if (kind < 0.06) return draw.one(weekdays);
  if (kind < 0.1) return `${weekdays[draw.whole(1, 3)]}-${draw.one(['FRI', 'SAT', 'SUN'])}`;
  if (kind < 0.16) return `${draw.whole(0, 7)}#${draw.whole(1, 5)}`;
  if (kind < 0.2) return `${draw.one(weekdays)}L,${draw.whole(0, 6)}#2`;
  if (kind < 0.24) return `+${draw.one(weekdays)}`;
  return field(draw, 0, 6, 0.6);
}

/** A random expression. Two in three name an hour and a minute, because a change of clocks matters for these. */
export function randomExpression(draw: SeededPicker): string {
  const star = draw.next() < 0.66 ? 0.1 : 0.6;
  const second = draw.next() < 0.3 ? `${field(draw, 0, 59, 0.3)} ` : '';
  const hour =
    draw.next() < 0.5 ? `${draw.one([0, 1, 2, 3, 23, '1-3', '0-4'])}` : field(draw, 0, 23, star);
  const minute = field(draw, 0, 59, star);
  return `${second}${minute} ${hour} ${dayField(draw)} ${monthField(draw)} ${weekdayField(draw)}`;
}

export const zones = [
  'UTC',
  'Europe/Berlin',
  'Europe/London',
  'Europe/Lisbon',
  'America/New_York',
  'America/St_Johns',
  'America/Sao_Paulo',
  'America/Havana',
  'America/Santiago',
  'America/Caracas',
  'Atlantic/Azores',
  'Africa/Cairo',
  'Asia/Tehran',
  'Asia/Kolkata',
  'Asia/Beirut',
  'Asia/Pyongyang',
  'Australia/Lord_Howe',
  'Australia/Adelaide',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Pacific/Kiritimati',
  'Antarctica/Troll',
];

/** The instants, in seconds since 1970, at which the clocks of a zone change between two years. */
export function clockChanges(zone: string, from: number, to: number): number[] {
  const clock = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  const offset = (at: number) => clock.format(at * 1000).split(', ')[1];
  const changes: number[] = [];
  const day = 86_400;
  for (let at = Date.UTC(from, 0) / 1000; at < Date.UTC(to, 0) / 1000; at += day) {
    if (offset(at) === offset(at + day)) continue;
    let [low, high] = [at, at + day];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (offset(middle) === offset(at)) low = middle;
      else high = middle;
    }
    changes.push(high);
  }
  return changes;
}
