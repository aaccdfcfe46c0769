import { Buffer } from 'node:buffer';

type Stream = {
  write(bytes: Uint8Array, ...rest: unknown[]): boolean;
  cork?(): void;
  uncork?(): void;
};

/**
 * Of a client of pg. It corks its stream while it writes a statement's five messages; workerd's stream
 * can't be corked, and each message would be a write, a packet and a read at the other end.
 */
export function corkSocket<T extends object>(client: T): T {
  const { stream } = (client as unknown as { connection: { stream: Stream } }).connection;
  if (stream.cork) return client;
  const write = stream.write.bind(stream);
  let held: Uint8Array[] | null = null;
  stream.cork = () => {
    held = [];
  };
  stream.write = (bytes, ...rest) => (held ? held.push(bytes) > 0 : write(bytes, ...rest));
  stream.uncork = () => {
    const bytes = Buffer.concat(held ?? []);
    held = null;
    write(bytes);
  };
  return client;
}
