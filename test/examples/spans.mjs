// Replaces a user's OpenTelemetry SDK: it writes each span as a line to standard output.
import { AsyncLocalStorage } from 'node:async_hooks';
import { context, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import {
  CompositePropagator,
  W3CBaggagePropagator,
  W3CTraceContextPropagator,
} from '@opentelemetry/core';
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';

const storage = new AsyncLocalStorage();
context.setGlobalContextManager({
  active: () => storage.getStore() ?? ROOT_CONTEXT,
  with: (held, run, self, ...values) => storage.run(held, () => run.apply(self, values)),
  bind: (held, run) => () => storage.run(held, run),
  enable() {
    return this;
  },
  disable() {
    return this;
  },
});
const propagators = [new W3CTraceContextPropagator(), new W3CBaggagePropagator()];
propagation.setGlobalPropagator(new CompositePropagator({ propagators }));

const shown = (span) => ({
  name: span.name,
  kind: span.kind,
  trace: span.spanContext().traceId,
  id: span.spanContext().spanId,
  parent: span.parentSpanContext?.spanId,
  status: span.status.code,
  attributes: span.attributes,
  events: span.events.map(({ name, attributes }) => [name, attributes?.['exception.message']]),
});
const exporter = {
  export(spans, done) {
    for (const span of spans) console.log(JSON.stringify(shown(span)));
    done({ code: 0 });
  },
  shutdown: async () => {},
};
const spanProcessors = [new SimpleSpanProcessor(exporter)];
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
