// Tasks in OpenTelemetry traces, by its conventions for messaging: a span for the enqueue, with a child span for each
// attempt.
import {
  context,
  propagation,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';

const tracer = trace.getTracer('tock');

/** Runs `run` in a span. If `run` fails, the span has the error. */
export function spanned(name, options, parent, run) {
  return tracer.startActiveSpan(name, options, parent, async (span) => {
    try {
      return await run(span);
    } catch (error) {
      span.recordException(error);
      span.setAttribute('error.type', error.name);
      span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
      throw error;
    } finally {
      span.end();
    }
  });
}

const about = (type, queue) => ({
  'messaging.system': 'tock',
  'messaging.operation.type': type,
  'messaging.operation.name': type,
  'messaging.destination.name': queue,
});

/** Headers for createTock() and other calls: traceparent, tracestate and baggage of the active span. */
export function headers() {
  const carrier = {};
  propagation.inject(context.active(), carrier);
  return carrier;
}

/** The context of a request or a task. */
export const contextOf = (carrier) => propagation.extract(ROOT_CONTEXT, carrier ?? {});

/** Enqueues a task in a span. The spans of its attempts are children of this span. */
export function enqueue(tock, queue, payload, options) {
  const kind = SpanKind.PRODUCER;
  const attributes = about('send', queue);
  return spanned(`send ${queue}`, { kind, attributes }, context.active(), async (span) => {
    const id = await tock.enqueue(queue, payload, options);
    span.setAttribute('messaging.message.id', id);
    return id;
  });
}

/** Middleware for work() and createWorker(): each attempt gets a span, a child of the enqueue's span. */
export function middleware(task, run) {
  const attributes = {
    ...about('process', task.queue),
    'messaging.message.id': task.id,
    'tock.run.id': task.run_id,
    'tock.attempt': task.attempt,
  };
  const options = { kind: SpanKind.CONSUMER, attributes };
  return spanned(`process ${task.queue}`, options, contextOf(task.headers), run);
}
