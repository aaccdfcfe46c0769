import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createApp } from '../../../functions/http/app.ts';
import { type Service, service } from '../../http/service.ts';
import { installPackages } from '../../packages.ts';

// biome-ignore lint/suspicious/noExplicitAny: the packages are not installed where their types would be found
export type Loose = any;

export type Sqs = {
  tock: Service;
  url: string;
  /** The modules of the packages that run against Tock. */
  load(module: string): Loose;
  /** A client with a key as its session token. One attempt: a test sees the first answer. */
  client(key?: string, options?: object): Loose;
  /** Calls an operation with a client. Default: one with all scopes. */
  call(operation: string, input: object, client?: Loose): Promise<Loose>;
  queueUrl(name: string): string;
  /** Lets the leases of all messages in flight expire, and takes them back. */
  expireLeases(): Promise<void>;
  close(): Promise<void>;
};

const credentials = { accessKeyId: 'any', secretAccessKey: 'any' };

/** The app on a port of this machine, and the packages of test/compat/sqs/package.json. */
export async function startSqs(): Promise<Sqs> {
  const folder = await installPackages(import.meta.dirname, 'compat-sqs');
  const load = createRequire(join(folder, 'package.json'));
  const tock = await service();
  const app = createApp(tock.connect);
  const server = createServer(async (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.on('close', () => gone.abort());
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
      method: incoming.method ?? 'GET',
      headers: incoming.headers as Record<string, string>,
      body: chunks.length > 0 ? Buffer.concat(chunks) : null,
      signal: gone.signal,
    });
    const response = await app.fetch(request, { TOCK_COMPAT: 'sqs' });
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const sdk = load('@aws-sdk/client-sqs');
  const client: Sqs['client'] = (key = tock.key, options = {}) =>
    new sdk.SQSClient({
      endpoint: url,
      region: 'us-east-1',
      credentials: { ...credentials, sessionToken: key },
      maxAttempts: 1,
      ...options,
    });
  const own = client();
  return {
    tock,
    url,
    load,
    client,
    call: (operation, input, by = own) => by.send(new sdk[`${operation}Command`](input)),
    queueUrl: (name) => `${url}/000000000000/${name}`,
    async expireLeases() {
      await tock.owner.query(
        "update tock.leases set leased_until = now() - interval '1 minute' where closed_at is null",
      );
      await tock.owner.query('select tock.reap(p_sweep => true)');
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await tock.database.drop();
    },
  };
}
