import { refusal } from '../../http/problem.ts';

export const TEN_YEARS = 315_360_000;
const units: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** The seconds of a text like 20s, 5m, 2h, 1d or 1h30m. */
export function secondsOf(header: string, text: string): number {
  if (!/^(\d{1,9}[smhd]){1,4}$/.test(text))
    throw refusal(400, `${header}: a number with s, m, h or d, such as 20s`);
  const seconds = [...text.matchAll(/(\d+)([smhd])/g)].reduce(
    (sum, [, count, unit = 's']) => sum + Number(count) * (units[unit] ?? 1),
    0,
  );
  if (seconds > TEN_YEARS) throw refusal(400, `${header}: at most ten years`);
  return seconds;
}
