import { createReadStream } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

export type FileServer = { url: string; stop(): void };

/** Serves the named files on 127.0.0.1; calls `onRequest` before each answer. */
export async function fileServer(
  root: string,
  paths: string[],
  onRequest: (count: number) => unknown,
): Promise<FileServer> {
  const allowed = new Set(paths);
  let count = 0;
  const server = createServer(async ({ url = '/' }, response) => {
    const path = decodeURIComponent(url.slice(1));
    if (!allowed.has(path)) return response.writeHead(404).end();
    await onRequest(++count);
    createReadStream(join(root, path)).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}
