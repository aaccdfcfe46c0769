import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** An error as SQS reports it. A `status` of 500 or more is Tock's fault, any other the sender's. */
export type Fault = {
  code: string;
  message: string;
  status: ContentfulStatusCode;
  retryAfter?: string;
};

/** The codes that have another name in the older query protocol, which clients compare too. */
const queryCodes: Record<string, string> = {
  QueueDoesNotExist: 'AWS.SimpleQueueService.NonExistentQueue',
  QueueNameExists: 'QueueAlreadyExists',
  EmptyBatchRequest: 'AWS.SimpleQueueService.EmptyBatchRequest',
  TooManyEntriesInBatchRequest: 'AWS.SimpleQueueService.TooManyEntriesInBatchRequest',
  BatchEntryIdsNotDistinct: 'AWS.SimpleQueueService.BatchEntryIdsNotDistinct',
  BatchRequestTooLong: 'AWS.SimpleQueueService.BatchRequestTooLong',
  InvalidBatchEntryId: 'AWS.SimpleQueueService.InvalidBatchEntryId',
  MessageNotInflight: 'AWS.SimpleQueueService.MessageNotInflight',
  UnsupportedOperation: 'AWS.SimpleQueueService.UnsupportedOperation',
};

export const queryCodeOf = (code: string) => queryCodes[code] ?? code;

/** The code and the status of a refusal of Tock's. */
const refusals: Record<number, [code: string, status: ContentfulStatusCode]> = {
  400: ['SerializationException', 400],
  401: ['InvalidClientTokenId', 403],
  403: ['AccessDenied', 403],
  404: ['QueueDoesNotExist', 400],
  408: ['RequestTimeout', 408],
  413: ['RequestEntityTooLarge', 413],
  429: ['RequestThrottled', 429],
  503: ['ServiceUnavailable', 503],
};

const noKey =
  'The request has no valid Tock key. Set one as the session token or as the access key id.';

/** Creates an error that faultOf() knows. */
export const fault = (code: string, message: string): Error =>
  Object.assign(new Error(message), { fault: { code, message, status: 400 } satisfies Fault });

export const invalid = (message: string): Error => fault('InvalidParameterValue', message);

/** What an error means to a client of SQS; a refusal of Tock's comes as an HTTPException. */
export function faultOf(error: unknown): Fault {
  const own = (error as { fault?: Fault }).fault;
  if (own) return own;
  if (error instanceof HTTPException) {
    const byDefault = error.status < 500 ? 'InvalidParameterValue' : 'InternalFailure';
    const [code, status] = refusals[error.status] ?? [byDefault, error.status < 500 ? 400 : 500];
    const { headers } = (error.cause ?? {}) as { headers?: Record<string, string> };
    const retryAfter = headers?.['Retry-After'];
    const message = error.status === 401 ? noKey : error.message;
    return { code, message, status, ...(retryAfter && { retryAfter }) };
  }
  console.error(`sqs: ${error instanceof Error ? error.message : error}`);
  return { code: 'InternalFailure', message: "The error is in the Worker's log.", status: 500 };
}

/** The headers of an error's answer. */
export function faultHeaders({ code, status, retryAfter }: Fault): Record<string, string> {
  return {
    'x-amzn-query-error': `${queryCodeOf(code)};${status < 500 ? 'Sender' : 'Receiver'}`,
    ...(retryAfter && { 'Retry-After': retryAfter }),
  };
}
