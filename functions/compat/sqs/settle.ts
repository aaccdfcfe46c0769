import { z } from '@hono/zod-openapi';
import type { CallTock } from '../adapter.ts';
import { expectOk } from '../calls.ts';
import { inBatch } from './batch.ts';
import { fault } from './faults.ts';
import { type Call, queueOf, read, whole } from './input.ts';

const receipt = z.object({ ReceiptHandle: z.string() });
const visibility = receipt.extend({ VisibilityTimeout: whole(0, 43_200) });

/** The lease of one receive and its task. */
export const receiptHandle = (lease: string, task: string) => `${lease}.${task}`;

const handleShape = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.([1-9]\d{0,18})$/;

function readHandle(text: string): { lease: string; task: string } {
  const [, lease, task] = handleShape.exec(text) ?? [];
  if (lease && task) return { lease, task };
  throw fault(
    'ReceiptHandleIsInvalid',
    `The input receipt handle "${text.slice(0, 200)}" is not a valid receipt handle.`,
  );
}

/** Completes the task. If its lease has been taken back, the task is cancelled, so that it is not received again. */
async function remove(tock: CallTock, input: unknown): Promise<void> {
  const { lease, task } = readHandle(read(receipt, input).ReceiptHandle);
  const answer = await tock('POST', `/v1/leases/${lease}/complete`, {});
  if (answer.status !== 409) return void expectOk(answer);
  const cancelled = await tock('POST', `/v1/tasks/${task}/cancel`, {});
  // It has ended, its history is gone, or the key may not cancel; SQS reports none of these.
  if (![403, 404, 409].includes(cancelled.status)) expectOk(cancelled);
}

const error = { message: 'The consumer made the message visible again.' };

/** Ends the attempt as failed; the message is visible again after some seconds. False if the lease is over. */
export async function giveBack(tock: CallTock, lease: string, seconds: number): Promise<boolean> {
  const body = { error, retry_in_seconds: seconds };
  const answer = await tock('POST', `/v1/leases/${lease}/fail`, body);
  if (answer.status !== 409) expectOk(answer);
  return answer.status !== 409;
}

/** The deadline of the lease, at least some seconds from now; null if the lease is over. */
async function extend(tock: CallTock, lease: string, lease_seconds: number) {
  const answer = await tock('POST', `/v1/leases/${lease}/extend`, { lease_seconds });
  return answer.status === 409 ? null : (expectOk(answer).leased_until as string);
}

/** An extension never moves a deadline back. Where the asked one is earlier, the attempt ends and the task waits. */
async function setVisibility(tock: CallTock, lease: string, seconds: number): Promise<boolean> {
  if (seconds === 0) return giveBack(tock, lease, 0);
  // The answers compare two times of the database's clock, and this Worker's clock may differ.
  const before = await extend(tock, lease, 1);
  const after = before === null ? null : await extend(tock, lease, seconds);
  if (after === null) return false;
  return after === before ? giveBack(tock, lease, seconds) : true;
}

async function change(tock: CallTock, input: unknown): Promise<void> {
  const { ReceiptHandle, VisibilityTimeout } = read(visibility, input);
  const { lease } = readHandle(ReceiptHandle);
  if (await setVisibility(tock, lease, VisibilityTimeout)) return;
  throw fault(
    'MessageNotInflight',
    'The message is not in flight: it is visible again or deleted.',
  );
}

export async function deleteMessage({ tock, input }: Call): Promise<object> {
  queueOf(input);
  await remove(tock, input);
  return {};
}

export async function deleteMessageBatch({ tock, input }: Call): Promise<object> {
  queueOf(input);
  return inBatch(input, (entry) => remove(tock, entry));
}

export async function changeMessageVisibility({ tock, input }: Call): Promise<object> {
  queueOf(input);
  await change(tock, input);
  return {};
}

export async function changeMessageVisibilityBatch({ tock, input }: Call): Promise<object> {
  queueOf(input);
  return inBatch(input, (entry) => change(tock, entry));
}
