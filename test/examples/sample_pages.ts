import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type SamplePages = {
  url: string;
  /** The requested paths, in order. */
  requests: string[];
  /** Closes all open connections. */
  hangUp(): void;
  close(): void;
};

/** Serves pages on this machine. `/404` answers with that status, `/held` never, and any other page with its path. */
export async function startSamplePages(): Promise<SamplePages> {
  const requests: string[] = [];
  const server = createServer(({ url = '/' }, response: ServerResponse) => {
    requests.push(url);
    if (url.startsWith('/held')) return;
    const status = Number(/^\/(\d{3})/.exec(url)?.[1] ?? 200);
    response.writeHead(status).end(url);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    hangUp: () => server.closeAllConnections(),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
