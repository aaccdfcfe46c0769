import { AwsClient } from 'aws4fetch';
import { misconfigured } from '../database/errors.ts';
import { STORE_MS } from '../timeouts.ts';
import type { Store } from './store.ts';

const isOwnMachine = ({ hostname }: URL) => hostname === '127.0.0.1' || hostname === 'localhost';

/** Payloads go there: not in the clear, but on one's own machine. */
function placeOf(url: string): string {
  const place = URL.canParse(url) ? new URL(url) : null;
  const plain = place && (place.protocol === 'https:' || isOwnMachine(place));
  if (!plain || place.pathname === '/' || place.search || place.username) {
    throw misconfigured(
      'TOCK_ARCHIVE_URL is no place for the archive.',
      'it is https://host/bucket, with a folder in it if you like: https://host/bucket/folder',
    );
  }
  return place.href.replace(/\/+$/, '');
}

/** Any store that speaks S3, addressed by path. */
export function s3(
  url: string,
  accessKeyId: string,
  secretAccessKey: string,
  region: string,
): Store {
  const place = placeOf(url);
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: 1 });
  async function ask(
    method: string,
    key: string,
    init: RequestInit = {},
  ): Promise<Response | null> {
    const address = `${place}/${key.split('/').map(encodeURIComponent).join('/')}`;
    const signal = AbortSignal.timeout(STORE_MS);
    const answer = await client.fetch(address, { method, signal, ...init });
    if (answer.ok) return answer;
    const said = (await answer.text().catch(() => '')).slice(0, 200).replaceAll(/\s+/g, ' ');
    if (answer.status === 404 && !/NoSuchBucket/.test(said)) return null;
    throw new Error(`the store answered ${answer.status} to ${method} ${key}: ${said}`);
  }
  return {
    async put(key, bytes, sha256) {
      const headers = {
        'X-Amz-Content-Sha256': sha256,
        'Content-Type': 'application/vnd.apache.parquet',
      };
      const answer = await ask('PUT', key, { body: bytes as Uint8Array<ArrayBuffer>, headers });
      if (!answer) throw new Error(`the store answered 404 to PUT ${key}`);
      await answer.arrayBuffer();
    },
    async get(key) {
      const answer = await ask('GET', key);
      return answer && new Uint8Array(await answer.arrayBuffer());
    },
    async range(key, start, end) {
      const answer = await ask('GET', key, { headers: { Range: `bytes=${start}-${end - 1}` } });
      const bytes = (await answer?.arrayBuffer()) ?? null;
      // Who doesn't know ranges sends all of it.
      return bytes && answer?.status === 200 ? bytes.slice(start, end) : bytes;
    },
    async delete(key) {
      await (await ask('DELETE', key))?.arrayBuffer();
    },
  };
}
