import type { Bug } from './bugs.ts';

const traced = 'http/trace.test.ts';
const carried = 'client/trace.test.ts';

/** Traces, from the request that enqueues to each run. */
export const traces: Bug[] = [
  {
    name: 'a trace that nobody records makes tasks ask for more',
    file: 'functions/http/trace.ts',
    find: "  if (TOCK_TRACE !== 'all' && !isSampled(traceparent)) return null;\n",
    replace: '',
    caught: [traced, 'a plain call is the same statement with and without a trace'],
  },
  {
    name: 'a space that is matched in two ways makes baggage take years',
    file: 'functions/http/trace.ts',
    find: 'pair.test(first)',
    replace: '/^([ \\t]*[a-z=]*)*$/.test(first)',
    caught: [traced, 'comes to an end'],
  },
  {
    name: 'a task with a trace of its own gets the rest of its request',
    file: 'routines/19_trace.sql',
    find: " or p_task -> 'headers' ? 'traceparent' then",
    replace: ' then',
    caught: [traced, 'a task keeps the trace of its request'],
  },
  {
    name: 'headers that are too many with a trace are refused',
    file: 'routines/19_trace.sql',
    find: "    when tock.headers_error(p_trace || (p_task -> 'headers')) is not null then p_task\n",
    replace: '',
    caught: [traced, 'a task keeps the trace of its request'],
  },
  {
    name: 'a repeated call whose span is another is refused',
    file: 'routines/21_enqueue.sql',
    find: 'then tock.without_trace(p_tasks) else p_tasks end',
    replace: 'then p_tasks else p_tasks end',
    caught: [traced, 'a call repeated under its request id'],
  },
  {
    name: 'what goes beside a call takes the place of its key',
    file: 'client/call.ts',
    find: '{ ...beside(), ...headers, ',
    replace: '{ ...headers, ...beside(), ',
    caught: [carried, 'what an enqueue is part of its handlers have'],
  },
  {
    name: 'nothing goes around the runs of a worker',
    file: 'client/worker/work.ts',
    find: 'around ? aroundAll(handlers, around) : handlers;',
    replace: 'handlers;',
    caught: [carried, 'what goes around a run has its end'],
  },
  {
    name: 'nothing goes around the runs of a consumer',
    file: 'functions/worker.ts',
    find: '    around ? { ...one, handler: surrounded(one.handler, around) } : one,',
    replace: '    around ? { ...one } : one,',
    caught: ['consumers/created.test.ts', 'what goes around runs goes around those of consumers'],
  },
  {
    name: "an attempt's span is a root of its own",
    file: 'examples/opentelemetry/tracing.mjs',
    find: 'contextOf(task.headers), run',
    replace: 'ROOT_CONTEXT, run',
    caught: ['examples/opentelemetry.test.ts', 'one trace has the request'],
  },
];
