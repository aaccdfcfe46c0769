import { connect, createServer, type Socket } from 'node:net';
import { anyPort } from '../../stack/ports.ts';
import { dice, pause } from '../random.ts';
import type { Way } from './plan.ts';

/** Of the answers that come while they are lost or cut, one in three is. */
const share = 3;

/** A TCP proxy on 127.0.0.1 that loses, cuts and delays what comes back, while it is told to. */
export async function openProxy(target: number, seed: number) {
  const random = dice(seed);
  const port = await anyPort();
  const open = new Set<Socket>();
  let way: Way | null = null;
  let done = 0;

  /** What becomes of a piece of an answer; null: the connection ends, without a word. */
  async function torn(piece: Buffer): Promise<{ piece: Buffer; over: boolean }> {
    if (way === 'answers late') {
      done++;
      await pause(200 + random(1500));
    } else if ((way === 'answers lost' || way === 'answers cut') && random(share) === 0) {
      done++;
      const left = way === 'answers cut' ? piece.subarray(0, piece.length >> 1) : Buffer.alloc(0);
      return { piece: left, over: true };
    }
    return { piece, over: false };
  }

  const server = createServer({ allowHalfOpen: true }, (near) => {
    if (way === 'connections refused') {
      done++;
      near.resetAndDestroy();
      return;
    }
    const far = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
    const both = [near, far];
    const end = () => {
      for (const socket of both) socket.destroy();
    };
    for (const socket of both) {
      open.add(socket);
      socket.setNoDelay(true);
      socket.on('error', end);
      socket.on('close', () => {
        open.delete(socket);
        end();
      });
    }
    near.pipe(far);
    let before = Promise.resolve();
    // Each after the one before it, however late that is.
    const inTurn = (step: () => Promise<void>) => {
      before = before.then(step).catch(end);
    };
    far.on('data', (piece: Buffer) => {
      far.pause();
      inTurn(async () => {
        const { piece: passed, over } = await torn(piece);
        if (passed.length > 0 && !near.destroyed) near.write(passed);
        // What was sent arrives before the end does.
        if (over) near.end(end);
        else far.resume();
      });
    });
    far.on('end', () => inTurn(async () => void near.end()));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host: '127.0.0.1' }, resolve);
  });
  return {
    port,
    /** From now on; null: everything passes. */
    tear(next: Way | null): void {
      way = next;
    },
    /** How many answers and connections it has spoilt. */
    spoilt: () => done,
    close(): void {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

export type Tearer = Awaited<ReturnType<typeof openProxy>>;
