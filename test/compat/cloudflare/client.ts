import { createRequire } from 'node:module';
import { join } from 'node:path';
import { createApp } from '../../../functions/http/app.ts';
import type { Service } from '../../http/service.ts';
import { installPackages } from '../../packages.ts';

export const account_id = '023e105f4ecef8ad9ca31a8372d0c353';

// biome-ignore lint/suspicious/noExplicitAny: the package is not installed where its types would be found
type Loose = any;
type Method = (queue: string, params: object) => Loose;
export type Messages = Record<'ack' | 'bulkPush' | 'peek' | 'pull' | 'purge' | 'push', Method>;
export type Client = { queues: { messages: Messages; list(params: object): Promise<unknown> } };

/** The modules of the npm package `cloudflare`, which has 71 MB in 17,000 files. */
export async function loadCloudflare(): Promise<(module: string) => Loose> {
  const folder = await installPackages(import.meta.dirname, 'compat-cloudflare');
  return createRequire(join(folder, 'package.json'));
}

/** Options of a client that talks to the app in this process. `maxRetries` 0: a test sees the first answer. */
export function clientOptions(tock: Service, baseURL = 'http://tock.example/client/v4') {
  const app = createApp(tock.connect);
  const bindings = { TOCK_COMPAT: 'cloudflare' };
  const fetch = async (url: string, init: RequestInit) => app.request(url, init, bindings);
  return { baseURL, fetch, maxRetries: 0 };
}
