import { text } from 'node:stream/consumers';
import { InvalidArgumentError } from 'commander';
import { Failure } from './failure.ts';

/** An option's number. */
export function number(value: string): number {
  if (value.trim() !== '' && Number.isFinite(Number(value))) return Number(value);
  throw new InvalidArgumentError('It is not a number.');
}

/** Checks a payload's JSON; it goes on as it came, so that no number passes through a double. */
export function checkedJson(json: string, where: string): string {
  try {
    JSON.parse(json);
    return json.trim();
  } catch (error) {
    const next = `A string needs its quotes too: '"hello"'`;
    throw new Failure(`${where} is not JSON: ${(error as Error).message}.`, next, 2);
  }
}

/** A payload as an argument, or with "-" from stdin. */
export async function givenPayload(given: string): Promise<string> {
  if (given === '-') return checkedJson(await text(process.stdin), 'What came on stdin');
  return checkedJson(given, 'The payload');
}

export function checkedId(id: string): string {
  if (/^0*[1-9]\d{0,18}$/.test(id) && BigInt(id) <= 9223372036854775807n) return String(BigInt(id));
  throw new Failure(`${id} is no task id.`, 'Ids are whole numbers, as enqueue printed them.', 2);
}

export function unknownTask(id: string): Failure {
  return new Failure(`There is no task ${id}.`, 'Look for its id where it was made.', 3);
}
