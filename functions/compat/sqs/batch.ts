import { fault, faultOf } from './faults.ts';

type Entry = { Id: string } & Record<string, unknown>;

const MAX_ENTRIES = 10;

/** The entries of a batch, if their number and their ids are valid. */
export function entriesOf({ Entries }: Record<string, unknown>): Entry[] {
  if (!Array.isArray(Entries) || Entries.length === 0) {
    throw fault('EmptyBatchRequest', 'There must be at least one entry in the request.');
  }
  if (Entries.length > MAX_ENTRIES) {
    throw fault(
      'TooManyEntriesInBatchRequest',
      `The maximum number of entries per request is ${MAX_ENTRIES}. You have sent ${Entries.length}.`,
    );
  }
  const ids = Entries.map((entry) => entry?.Id);
  if (!ids.every((id) => typeof id === 'string' && /^[\w-]{1,80}$/.test(id))) {
    throw fault(
      'InvalidBatchEntryId',
      'The id of a batch entry can only contain letters, digits, hyphens and underscores, up to 80.',
    );
  }
  const repeated = ids.find((id, n) => ids.indexOf(id) < n);
  if (repeated !== undefined) {
    throw fault('BatchEntryIdsNotDistinct', `The id ${repeated} is repeated.`);
  }
  return Entries;
}

/** An entry of Failed. */
export function failedEntry(Id: string, error: unknown) {
  const { code: Code, message: Message, status } = faultOf(error);
  return { Id, Code, Message, SenderFault: status < 500 };
}

/** Without empty lists: some programs only look whether there is a list of failures. */
export const batchAnswer = (done: object[], failed: object[]) => ({
  ...(done.length > 0 && { Successful: done }),
  ...(failed.length > 0 && { Failed: failed }),
});

/** Does something with each entry of a batch at once. */
export async function inBatch(
  input: Record<string, unknown>,
  act: (entry: Entry) => Promise<unknown>,
): Promise<object> {
  const entries = entriesOf(input);
  const results = await Promise.allSettled(entries.map(act));
  const errors = results.flatMap((result) => (result.status === 'rejected' ? result.reason : []));
  // Such as an unknown key, of which a client learns only from the status.
  const isRefused = errors.length === entries.length && faultOf(errors[0]).status !== 400;
  if (isRefused) throw errors[0];
  const done = entries.flatMap(({ Id }, n) => (results[n]?.status === 'fulfilled' ? { Id } : []));
  const failed = entries.flatMap(({ Id }, n) => {
    const result = results[n];
    return result?.status === 'rejected' ? failedEntry(Id, result.reason) : [];
  });
  return batchAnswer(done, failed);
}
