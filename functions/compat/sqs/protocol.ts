import { type Fault, fault } from './faults.ts';

/** How a client writes an operation, and how it reads the answer. */
export type Protocol = {
  contentType: string;
  matches(request: Request): boolean;
  /** The name of the operation and its input, with the names of the JSON protocol. */
  read(request: Request, text: string): { name: string; input: Record<string, unknown> };
  answer(name: string, body: object, requestId: string): string;
  refusal(fault: Fault, requestId: string): string;
};

const target = 'AmazonSQS.';

function parse(text: string): Record<string, unknown> {
  let input: unknown;
  try {
    input = JSON.parse(text || '{}');
  } catch {
    throw fault('SerializationException', 'The body is not JSON.');
  }
  if (typeof input === 'object' && input !== null && !Array.isArray(input)) {
    return input as Record<string, unknown>;
  }
  throw fault('SerializationException', 'The body must be a JSON object.');
}

export const json: Protocol = {
  contentType: 'application/x-amz-json-1.0',
  matches: ({ method, headers }) =>
    method === 'POST' && (headers.get('x-amz-target')?.startsWith(target) ?? false),
  read: ({ headers }, text) => ({
    name: headers.get('x-amz-target')?.slice(target.length) ?? '',
    input: parse(text),
  }),
  answer: (_name, body) => JSON.stringify(body),
  refusal: ({ code, message }) => JSON.stringify({ __type: `com.amazonaws.sqs#${code}`, message }),
};
