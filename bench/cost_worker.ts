import type { AlarmState } from '../functions/alarm/alarm.ts';
import { connect } from '../functions/database/connect.ts';
import type { Bindings } from '../functions/env.ts';
import { createWorker, defineConsumer } from '../functions/worker.ts';

/** The statements, and what Cloudflare bills of the Durable Object: requests, which include alarms, and rows written. */
const counts = { statements: 0, object_requests: 0, rows: 0 };

const consumer = defineConsumer({ queue: 'consumer', concurrency: 100, handler() {} });
const worker = createWorker({
  consumers: [consumer],
  connect: (env, use) =>
    connect(env, (query, most) =>
      use((text, values) => {
        counts.statements++;
        return query(text, values);
      }, most),
    ),
});

function counted(storage: AlarmState['storage']): AlarmState['storage'] {
  const write = <T>(done: Promise<T>) => {
    counts.rows++;
    return done;
  };
  return {
    getAlarm: () => storage.getAlarm(),
    get: (key) => storage.get(key),
    put: (key, value) => write(storage.put(key, value)),
    delete: (key) => write(storage.delete(key)),
    setAlarm: (at) => write(storage.setAlarm(at)),
    deleteAlarm: () => write(storage.deleteAlarm()),
  };
}

/** The alarm of the product, with its requests and its writes counted. */
export class Alarm extends worker.Alarm {
  constructor({ storage }: AlarmState, env: Bindings) {
    super({ storage: counted(storage) }, env);
  }
  override fetch(request: Request): Promise<Response> {
    counts.object_requests++;
    return super.fetch(request);
  }
  override alarm(): Promise<void> {
    counts.object_requests++;
    return super.alarm();
  }
}

/** The Worker of the product with one consumer, and a route that shows the counts. */
export default {
  fetch: ((request, env, execution) =>
    request.url.endsWith('/counts')
      ? Response.json(counts)
      : worker.fetch(request, env, execution)) satisfies typeof worker.fetch,
};
