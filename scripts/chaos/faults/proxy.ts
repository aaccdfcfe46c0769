import { connect, createServer, type Socket } from 'node:net';
import { anyPort } from '../../stack/ports.ts';
import { dice, pause } from '../random.ts';
import type { NetworkFault } from './plan.ts';

/** While answers are lost or cut, the proxy changes one in this many. */
const share = 3;

/** A TCP proxy on 127.0.0.1 that loses, cuts and delays answers while a fault is set. */
export async function openProxy(target: number, seed: number) {
  const random = dice(seed);
  const port = await anyPort();
  const sockets = new Set<Socket>();
  let fault: NetworkFault | null = null;
  let done = 0;

  /** Applies the fault to a piece of an answer. With `over` the connection ends after the piece. */
  async function torn(piece: Buffer): Promise<{ piece: Buffer; over: boolean }> {
    if (fault === 'answers late') {
      done++;
      await pause(200 + random(1500));
    } else if ((fault === 'answers lost' || fault === 'answers cut') && random(share) === 0) {
      done++;
      const passedPart =
        fault === 'answers cut' ? piece.subarray(0, piece.length >> 1) : Buffer.alloc(0);
      return { piece: passedPart, over: true };
    }
    return { piece, over: false };
  }

  const server = createServer({ allowHalfOpen: true }, (near) => {
    if (fault === 'connections refused') {
      done++;
      near.resetAndDestroy();
      return;
    }
    const upstream = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    const both = [near, upstream];
    const end = () => {
      for (const socket of both) socket.destroy();
    };
    for (const socket of both) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', () => {
        sockets.delete(socket);
        end();
      });
    }
    near.pipe(upstream);
    let previous = Promise.resolve();
    // A piece is passed on only after the piece before it, even if that is late.
    const afterPrevious = (step: () => Promise<void>) => {
      previous = previous.then(step).catch(end);
    };
    upstream.on('data', (piece: Buffer) => {
      upstream.pause();
      afterPrevious(async () => {
        const { piece: passed, over } = await torn(piece);
        if (passed.length > 0 && !near.destroyed) near.write(passed);
        // end() first sends the data that was written.
        if (over) near.end(end);
        else upstream.resume();
      });
    });
    upstream.on('end', () => afterPrevious(async () => void near.end()));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host: '127.0.0.1' }, resolve);
  });
  return {
    port,
    /** Sets the fault from now on; null ends it. */
    tear(next: NetworkFault | null): void {
      fault = next;
    },
    /** The number of answers and connections that the fault changed. */
    spoilt: () => done,
    close(): void {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

export type Tearer = Awaited<ReturnType<typeof openProxy>>;
