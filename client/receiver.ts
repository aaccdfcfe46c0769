import { Webhook } from 'standardwebhooks';
import { Fatal, RetryIn } from './errors.ts';

/**
 * A task that Tock has pushed. The signature covers `id`, the payload and the time. It does not cover the other headers:
 * only TLS protects `run_id`, `queue`, `attempt`, `max_attempts` and `headers` on their way.
 */
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
  /** A larger body is refused with 413 before it is read to its end. Default: 5 MiB; a payload has up to 4. */
  max_body_bytes?: number;
  /** Called with each error of the handler. */
  on_error?(error: unknown, task: PushedTask): void;
};

export type Receive = (request: Request) => Promise<Response>;

/** The body as text; null if it has more than `most` bytes. */
async function readText({ headers, body }: Request, most: number): Promise<string | null> {
  if (Number(headers.get('content-length')) > most) return null;
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > most) return null;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The payload. Throws the error of the first secret if none has signed the request. */
function verify(webhooks: Webhook[], body: string, headers: Headers): unknown {
  let first: unknown;
  for (const webhook of webhooks) {
    try {
      return webhook.verify(body, Object.fromEntries(headers));
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

/**
 * A receiver of pushed tasks: verifies the signature, calls the handler, and answers so that Tock does with the task
 * what the handler says. It answers 401 to a request that is not signed by the secret, or was signed over five minutes
 * ago, and 413 to one that is too large. Runs wherever Request and Response exist. https://www.standardwebhooks.com
 */
export function serve<T = unknown>(handler: PushHandler<T>, options: ServeOptions): Receive {
  const { max_body_bytes = 5 * 1024 * 1024 } = options;
  const secrets = [options.secret].flat();
  if (secrets.length === 0 || secrets.includes(''))
    throw new TypeError('secret: the secret of the queue is missing (tock push-secret QUEUE)');
  const webhooks = secrets.map((secret) => new Webhook(secret));
  return async (request) => {
    if (request.method !== 'POST')
      return new Response('A push is a POST.', { status: 405, headers: { allow: 'POST' } });
    const body = await readText(request, max_body_bytes);
    if (body === null)
      return new Response(`The body is larger than ${max_body_bytes} bytes.`, { status: 413 });
    const { headers } = request;
    let payload: unknown;
    try {
      payload = verify(webhooks, body, headers);
    } catch (error) {
      return new Response(error instanceof Error ? error.message : String(error), { status: 401 });
    }
    const task: PushedTask<T> = {
      id: headers.get('webhook-id') ?? '',
      run_id: headers.get('tock-run') ?? '',
      queue: headers.get('tock-queue') ?? '',
      attempt: Number(headers.get('tock-attempt')),
      max_attempts: Number(headers.get('tock-max-attempts')),
      payload: payload as T,
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
  /** True once the body has been received to its end. */
  complete: boolean;
};

/** The part of node:http's ServerResponse that the receiver uses. */
export type NodeResponse = {
  on(event: 'close', listener: () => void): unknown;
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: Uint8Array): unknown;
  destroy(): unknown;
};

/** A body that is left unread stays open, because a closed one would close the connection before the answer. */
function streamOf(incoming: NodeRequest): ReadableStream<Uint8Array> {
  const chunks = incoming[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}

/** The receiver as a listener of node:http, for createServer() and frameworks on it. */
export function nodeListener(receive: Receive) {
  const answer = async (incoming: NodeRequest, outgoing: NodeResponse): Promise<void> => {
    const hangUp = new AbortController();
    outgoing.on('close', () => hangUp.abort());
    const { method = 'GET', headers } = incoming;
    const init: RequestInit & { duplex: 'half' } = {
      method,
      headers: Object.entries(headers).flatMap(([name, value]): [string, string][] =>
        value === undefined ? [] : [[name, String(value)]],
      ),
      signal: hangUp.signal,
      duplex: 'half',
      ...(method !== 'GET' && method !== 'HEAD' && { body: streamOf(incoming) }),
    };
    const response = await receive(new Request(`http://receiver${incoming.url ?? '/'}`, init));
    outgoing.writeHead(response.status, {
      ...Object.fromEntries(response.headers),
      // After a body that was not read to its end, the connection cannot carry another request.
      ...(!incoming.complete && { connection: 'close' }),
    });
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
