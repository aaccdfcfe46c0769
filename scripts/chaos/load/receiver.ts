import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Journal } from '../journal.ts';

/**
 * The endpoint of a queue with push, on 127.0.0.1. It refuses one push in five; Tock pushes that task again.
 */
export async function openReceiver(journal: Journal, count: (what: string) => void) {
  let received = 0;
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (piece) => {
      body += piece;
    });
    request.on('end', () => {
      const accepts = ++received % 5 > 0;
      const id = String(request.headers['webhook-id']);
      const run = String(request.headers['tock-run']);
      const { n = 0, v = 0 } = JSON.parse(body || '{}');
      const runs = [{ id, run, attempt: 0, n, version: v }];
      // The answer may be lost, so the end is recorded only as sent.
      const verb = accepts ? 'complete' : 'fail';
      journal.ending({ verb, lease: 'pushed', sent: Date.now(), runs, final: [] });
      count(accepts ? 'push: taken' : 'push: postponed');
      response.writeHead(accepts ? 200 : 503, { 'content-type': 'application/json' }).end('{}');
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
