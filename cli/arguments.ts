import { text } from 'node:stream/consumers';
import { InvalidArgumentError } from 'commander';
import { Failure } from '../migrate/failure.ts';

/** Parses an option's number. */
export function number(value: string): number {
  if (value.trim() !== '' && Number.isFinite(Number(value))) return Number(value);
  throw new InvalidArgumentError('It is not a number.');
}

/** Parses an option's whole number, and checks its range. */
export const wholeNumber = (min: number, max: number) => (value: string) => {
  const parsed = value.trim() === '' ? Number.NaN : Number(value);
  if (Number.isInteger(parsed) && parsed >= min && parsed <= max) return parsed;
  throw new InvalidArgumentError(`It is not a whole number from ${min} to ${max}.`);
};

/** Parses one weight for each queue, such as 3,1. */
export function checkedWeights(text: string, queues: number): number[] {
  const weights = text.split(',').map(Number);
  const valid = weights.every(
    (weight) => Number.isInteger(weight) && weight >= 1 && weight <= 1000,
  );
  if (valid && weights.length === queues) return weights;
  const allowed = 'give a whole number from 1 to 1000 for each queue, such as 3,1';
  throw new Failure(`--weights ${text}: ${allowed}.`, undefined, 2);
}

/** Checks a payload's JSON, which is passed on as text, so that numbers keep their precision. */
export function checkedJson(json: string, name: string): string {
  try {
    JSON.parse(json);
    return json.trim();
  } catch (error) {
    const next = `A JSON string needs double quotes: '"hello"'`;
    throw new Failure(`${name} is not JSON: ${(error as Error).message}.`, next, 2);
  }
}

/** JSON from an argument, or with "-" from stdin. */
export async function jsonArgument(argument: string, name: string): Promise<string> {
  if (argument === '-') return checkedJson(await text(process.stdin), 'The input on stdin');
  return checkedJson(argument, name);
}

export const payloadArgument = (argument: string) => jsonArgument(argument, 'The payload');

export function checkedId(id: string): string {
  if (/^0*[1-9]\d{0,18}$/.test(id) && BigInt(id) <= 9223372036854775807n) return String(BigInt(id));
  throw new Failure(
    `${id} is not a task id.`,
    'Ids are whole numbers, as enqueue printed them.',
    2,
  );
}

export function checkedLease(lease: string): string {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(lease)) return lease;
  throw new Failure(`${lease} is not a lease.`, 'A lease is a UUID, as claim printed it.', 2);
}

export function unknownTask(id: string): Failure {
  return new Failure(
    `There is no task ${id}.`,
    'Check the id with the command that created the task.',
    3,
  );
}
