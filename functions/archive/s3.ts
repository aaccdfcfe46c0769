import { AwsClient } from 'aws4fetch';
import { misconfigured } from '../database/errors.ts';
import { STORE_MS } from '../timeouts.ts';
import type { Store } from './store.ts';

const isLocal = ({ hostname }: URL) => hostname === '127.0.0.1' || hostname === 'localhost';

/** Requires https, except on the local machine, because payloads are sent to this URL. */
function checkedUrl(url: string): string {
  const location = URL.canParse(url) ? new URL(url) : null;
  const isAllowed = location && (location.protocol === 'https:' || isLocal(location));
  if (!isAllowed || location.pathname === '/' || location.search || location.username) {
    throw misconfigured(
      'TOCK_ARCHIVE_URL is not a valid bucket URL.',
      'use https://host/bucket, or https://host/bucket/folder',
    );
  }
  return location.href.replace(/\/+$/, '');
}

/** Any store with the S3 API, addressed by path. */
export function s3(
  url: string,
  accessKeyId: string,
  secretAccessKey: string,
  region: string,
): Store {
  const place = checkedUrl(url);
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: 1 });
  async function send(
    method: string,
    key: string,
    init: RequestInit = {},
  ): Promise<Response | null> {
    const address = `${place}/${key.split('/').map(encodeURIComponent).join('/')}`;
    const signal = AbortSignal.timeout(STORE_MS);
    const answer = await client.fetch(address, { method, signal, ...init });
    if (answer.ok) return answer;
    const text = (await answer.text().catch(() => '')).slice(0, 200).replaceAll(/\s+/g, ' ');
    if (answer.status === 404 && !/NoSuchBucket/.test(text)) return null;
    throw new Error(`the store answered ${answer.status} to ${method} ${key}: ${text}`);
  }
  return {
    async put(key, bytes, sha256) {
      const headers = {
        'X-Amz-Content-Sha256': sha256,
        'Content-Type': 'application/vnd.apache.parquet',
      };
      const answer = await send('PUT', key, { body: bytes as Uint8Array<ArrayBuffer>, headers });
      if (!answer) throw new Error(`the store answered 404 to PUT ${key}`);
      await answer.arrayBuffer();
    },
    async get(key) {
      const answer = await send('GET', key);
      return answer && new Uint8Array(await answer.arrayBuffer());
    },
    async range(key, start, end) {
      const answer = await send('GET', key, { headers: { Range: `bytes=${start}-${end - 1}` } });
      const bytes = (await answer?.arrayBuffer()) ?? null;
      // A store without support for ranges sends the whole object.
      return bytes && answer?.status === 200 ? bytes.slice(start, end) : bytes;
    },
    async delete(key) {
      await (await send('DELETE', key))?.arrayBuffer();
    },
  };
}
