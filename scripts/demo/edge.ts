// The demo's own Worker: Tock with a consumer that hashes the files whose paths its tasks contain.
import { createWorker, defineConsumer } from '../../functions/worker.ts';

const hex = (bytes: ArrayBuffer) =>
  Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');

const hash = defineConsumer<{ path: string }>({
  queue: 'demo-consumer',
  concurrency: 5,
  batch: 20,
  lease_seconds: 3,
  async handler(task, { env, signal }) {
    const url = `${env.FILES}/${encodeURIComponent(task.payload.path)}`;
    const response = await fetch(url, { signal });
    if (!response.ok) throw new Error(`${url} answers ${response.status}`);
    const bytes = await response.arrayBuffer();
    let lines = 0;
    for (const byte of new Uint8Array(bytes)) if (byte === 10) lines++;
    return { sha256: hex(await crypto.subtle.digest('SHA-256', bytes)), lines };
  },
});

const worker = createWorker({ consumers: [hash] });

export default { fetch: worker.fetch, scheduled: worker.scheduled };

export const { Alarm } = worker;
