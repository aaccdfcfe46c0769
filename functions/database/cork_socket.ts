import { Buffer } from 'node:buffer';

type Stream = {
  write(bytes: Uint8Array, ...rest: unknown[]): boolean;
  cork?(): void;
  uncork?(): void;
};

/**
 * Adds cork() to the stream of a pg client. pg corks its stream while it writes the five messages of a statement. In
 * workerd a stream has no cork(), so each message would be a packet of its own.
 */
export function corkSocket<T extends object>(client: T): T {
  const { stream } = (client as unknown as { connection: { stream: Stream } }).connection;
  if (stream.cork) return client;
  const write = stream.write.bind(stream);
  let corked: Uint8Array[] | null = null;
  stream.cork = () => {
    corked = [];
  };
  stream.write = (bytes, ...rest) => (corked ? corked.push(bytes) > 0 : write(bytes, ...rest));
  stream.uncork = () => {
    const bytes = Buffer.concat(corked ?? []);
    corked = null;
    write(bytes);
  };
  return client;
}
