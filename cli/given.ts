import { text } from 'node:stream/consumers';
import { InvalidArgumentError } from 'commander';
import { Failure } from '../migrate/failure.ts';

/** An option's number. */
export function number(value: string): number {
  if (value.trim() !== '' && Number.isFinite(Number(value))) return Number(value);
  throw new InvalidArgumentError('It is not a number.');
}

/** An option's whole number, within what is allowed. */
export const whole = (least: number, most: number) => (value: string) => {
  const given = value.trim() === '' ? Number.NaN : Number(value);
  if (Number.isInteger(given) && given >= least && given <= most) return given;
  throw new InvalidArgumentError(`It is not a whole number from ${least} to ${most}.`);
};

/** A weight for each of so many queues, as in 3,1. */
export function checkedWeights(given: string, queues: number): number[] {
  const weights = given.split(',').map(Number);
  const good = weights.every((weight) => Number.isInteger(weight) && weight >= 1 && weight <= 1000);
  if (good && weights.length === queues) return weights;
  const allowed = 'give a whole number from 1 to 1000 for each queue, such as 3,1';
  throw new Failure(`--weights ${given}: ${allowed}.`, undefined, 2);
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

/** JSON as an argument, or with "-" from stdin. */
export async function givenJson(given: string, what: string): Promise<string> {
  if (given === '-') return checkedJson(await text(process.stdin), 'What came on stdin');
  return checkedJson(given, what);
}

export const givenPayload = (given: string) => givenJson(given, 'The payload');

export function checkedId(id: string): string {
  if (/^0*[1-9]\d{0,18}$/.test(id) && BigInt(id) <= 9223372036854775807n) return String(BigInt(id));
  throw new Failure(`${id} is no task id.`, 'Ids are whole numbers, as enqueue printed them.', 2);
}

export function checkedLease(lease: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(lease)) return lease;
  throw new Failure(`${lease} is no lease.`, 'A lease is a UUID, as claim printed it.', 2);
}

export function unknownTask(id: string): Failure {
  return new Failure(`There is no task ${id}.`, 'Look for its id where it was made.', 3);
}
