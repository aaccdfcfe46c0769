import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Facts } from './facts.ts';

/** The endpoint that a queue is pushed to, on 127.0.0.1: takes most tasks, and one in five another time. */
export async function openReceiver(facts: Facts, count: (what: string) => void) {
  let heard = 0;
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      const takes = ++heard % 5 > 0;
      const id = String(request.headers['webhook-id']);
      const run = String(request.headers['tock-run']);
      const { n = 0, v = 0 } = JSON.parse(body || '{}');
      const runs = [{ id, run, attempt: 0, n, version: v }];
      // Whether the answer arrives nobody knows: it is an end that was tried.
      const verb = takes ? 'complete' : 'fail';
      facts.ending({ verb, lease: 'pushed', sent: Date.now(), runs, final: [] });
      count(takes ? 'push: taken' : 'push: put off');
      response.writeHead(takes ? 200 : 503, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}
