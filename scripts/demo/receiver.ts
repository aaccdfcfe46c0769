// A receiver of pushes in a process of its own. It verifies the signature, hashes the file that the task names, and
// answers. It reports each step as a line of JSON. Usage: node receiver.ts <port> <root>, with SECRET
import { createHash } from 'node:crypto';
import { writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';

const [port = '', root = ''] = process.argv.slice(2);
const webhook = new Webhook(process.env.SECRET ?? '');
// The line is written before the next step, because the demo kills the receiver after such a line.
const report = (step: object) => writeSync(1, `${JSON.stringify(step)}\n`);

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

const server = createServer(async (request, response) => {
  const body = await readBody(request);
  let payload: { path: string };
  try {
    payload = webhook.verify(body, request.headers as Record<string, string>) as typeof payload;
  } catch (error) {
    report({ refused: (error as Error).message });
    return response.writeHead(401).end();
  }
  report({ received: request.headers['webhook-id'] });
  const bytes = await readFile(join(root, payload.path));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const lines = bytes.filter((byte) => byte === 10).length;
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ sha256, lines }));
});
server.listen(Number(port), '127.0.0.1', () => report({ listening: port }));

// The demo holds the other end of stdin, so stdin ends with the demo, and then the receiver ends too.
process.stdin.on('end', () => process.exit(0)).resume();
process.on('SIGINT', () => {});
