import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { Fatal, RetryIn } from './errors.ts';

/** A task that Tock has pushed. */
export type PushedTask<T = unknown> = {
  /** The task's id, the same at every attempt. */
  id: string;
  run_id: string;
  queue: string;
  attempt: number;
  max_attempts: number;
  payload: T;
  /** The headers of the request: those of the task, such as `traceparent`, among others. */
  headers: Headers;
};

/** Aborts when Tock hangs up, because its timeout is over. */
export type PushContext = { signal: AbortSignal };

/**
 * Returns the task's result, which Tock keeps. A thrown Fatal makes the task dead, a RetryIn sets the time of the next
 * attempt, and any other error fails the attempt. A task is pushed at least once.
 */
export type PushHandler<T = unknown> = (task: PushedTask<T>, context: PushContext) => unknown;

export type ServeOptions = {
  /** The queue's secret (`tock push-secret QUEUE`): whsec_… During a rotation both, in either order. */
  secret: string | string[];
  /** Called with each error of the handler. */
  on_error?(error: unknown, task: PushedTask): void;
};

export type Receive = (request: Request) => Promise<Response>;

/** The error of the first secret if none has signed the request. */
function verify(webhooks: Webhook[], body: string, headers: Headers): void {
  let first: unknown;
  for (const webhook of webhooks) {
    try {
      return void webhook.verify(body, Object.fromEntries(headers));
    } catch (error) {
      first ??= error;
    }
  }
  throw first;
}

function failure(error: unknown): Response {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  if (error instanceof Fatal)
    return new Response(message, { status: 489, headers: { 'nonretryable-error': 'true' } });
  if (error instanceof RetryIn)
    return new Response(message, {
      status: 503,
      headers: { 'retry-after': String(Math.ceil(error.seconds)) },
    });
  return new Response(`${name}: ${message}`, { status: 500 });
}

function isInvalid(error: unknown): boolean {
  return error instanceof WebhookVerificationError || error instanceof SyntaxError;
}

/**
 * A receiver of pushed tasks: verifies the signature, calls the handler, and answers so that Tock does with the task
 * what the handler says. It answers 401 to a request that is not signed by the secret, or was signed over five minutes
 * ago. Runs wherever Request and Response exist. https://www.standardwebhooks.com
 */
export function serve<T = unknown>(handler: PushHandler<T>, options: ServeOptions): Receive {
  const secrets = [options.secret].flat();
  if (secrets.length === 0 || secrets.includes(''))
    throw new TypeError('secret: the secret of the queue is missing (tock push-secret QUEUE)');
  const webhooks = secrets.map((secret) => new Webhook(secret));
  return async (request) => {
    if (request.method !== 'POST')
      return new Response('A push is a POST.', { status: 405, headers: { allow: 'POST' } });
    const body = await request.text();
    const { headers } = request;
    try {
      verify(webhooks, body, headers);
    } catch (error) {
      if (isInvalid(error)) return new Response((error as Error).message, { status: 401 });
      throw error;
    }
    const task: PushedTask<T> = {
      id: headers.get('webhook-id') ?? '',
      run_id: headers.get('tock-run') ?? '',
      queue: headers.get('tock-queue') ?? '',
      attempt: Number(headers.get('tock-attempt')),
      max_attempts: Number(headers.get('tock-max-attempts')),
      payload: JSON.parse(body),
      headers,
    };
    try {
      const result = await handler(task, { signal: request.signal });
      return result === undefined ? new Response(null, { status: 204 }) : Response.json(result);
    } catch (error) {
      options.on_error?.(error, task);
      return failure(error);
    }
  };
}

/** The part of node:http's IncomingMessage that the receiver reads. */
export type NodeRequest = AsyncIterable<Uint8Array> & {
  method?: string | undefined;
  url?: string | undefined;
  headers: Record<string, string | string[] | undefined>;
};

/** The part of node:http's ServerResponse that the receiver uses. */
export type NodeResponse = {
  on(event: 'close', listener: () => void): unknown;
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: Uint8Array): unknown;
  destroy(): unknown;
};

/** The receiver as a listener of node:http, for createServer() and frameworks on it. */
export function nodeListener(receive: Receive) {
  const answer = async (incoming: NodeRequest, outgoing: NodeResponse): Promise<void> => {
    const chunks: Uint8Array[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const hangUp = new AbortController();
    outgoing.on('close', () => hangUp.abort());
    const { method = 'GET', headers } = incoming;
    const response = await receive(
      new Request(`http://receiver${incoming.url ?? '/'}`, {
        method,
        headers: Object.entries(headers).flatMap(([name, value]): [string, string][] =>
          value === undefined ? [] : [[name, String(value)]],
        ),
        signal: hangUp.signal,
        ...(method !== 'GET' && method !== 'HEAD' && { body: new Blob(chunks as BlobPart[]) }),
      }),
    );
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(new Uint8Array(await response.arrayBuffer()));
  };
  // A sender that hangs up in the middle of its body must not end the process.
  return (incoming: NodeRequest, outgoing: NodeResponse): Promise<void> =>
    answer(incoming, outgoing).catch(() => void outgoing.destroy());
}

/** The part of an event of a function URL or an HTTP API (payload format 2.0) that the receiver reads. */
export type LambdaEvent = {
  body?: string;
  isBase64Encoded?: boolean;
  headers: Record<string, string | undefined>;
  requestContext: { http: { method: string } };
};

export type LambdaAnswer = { statusCode: number; headers: Record<string, string>; body: string };

/** The receiver as a handler of AWS Lambda, behind a function URL or an HTTP API. */
export function lambdaHandler(receive: Receive) {
  return async (event: LambdaEvent): Promise<LambdaAnswer> => {
    const { body = '', isBase64Encoded, headers, requestContext } = event;
    const { method } = requestContext.http;
    const bytes = isBase64Encoded
      ? Uint8Array.from(atob(body), (sign) => sign.charCodeAt(0))
      : body;
    const response = await receive(
      new Request('http://receiver/', {
        method,
        headers: Object.entries(headers).flatMap(([name, value]): [string, string][] =>
          value === undefined ? [] : [[name, value]],
        ),
        ...(method === 'POST' && { body: bytes }),
      }),
    );
    return {
      statusCode: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
    };
  };
}
