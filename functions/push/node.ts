import type { LookupAddress } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import type { LookupFunction } from 'node:net';
import { isPublic } from './guard.ts';
import type { Post, PostInit } from './post.ts';

/** All addresses of a name. */
export type Lookup = (host: string) => Promise<LookupAddress[]>;

/** A name that leads into a network of one's own. */
export class NotPublic extends Error {
  override name = 'NotPublic';
}

// Not imported: the Worker's bundle has none of them.
const node = () => ({
  dns: process.getBuiltinModule('node:dns/promises'),
  http: process.getBuiltinModule('node:http'),
  https: process.getBuiltinModule('node:https'),
  net: process.getBuiltinModule('node:net'),
  stream: process.getBuiltinModule('node:stream'),
});

const lookUp: Lookup = (host) => node().dns.lookup(host, { all: true });

/** Looks a name up once, judges each address, and gives those to connect to: nobody asks again. */
function guarded(lookup: Lookup, allowed: (address: string) => boolean): LookupFunction {
  return (host, { all }, done) => {
    lookup(host).then(
      (found) => {
        const bad = found.find(({ address }) => !allowed(address));
        const [first] = found;
        if (bad || !first) {
          const why = bad
            ? `${host} is ${bad.address}, which is no public address`
            : `${host} has no address`;
          done(new NotPublic(why), '', 4);
        } else if (all) done(null, found);
        else done(null, first.address, first.family);
      },
      (error) => done(error, '', 4),
    );
  };
}

function answerOf(incoming: IncomingMessage): Response {
  const { statusCode = 502, headers } = incoming;
  const named = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  const none = [204, 205, 304].includes(statusCode);
  // Some send a body all the same, without end.
  if (none) incoming.destroy();
  const body = none ? null : (node().stream.Readable.toWeb(incoming) as ReadableStream);
  return new Response(body, {
    status: statusCode,
    headers: new Headers(Object.fromEntries(named)),
  });
}

/** As postByFetch, on Node: it connects to an address that was judged, and to no other. */
export function postGuarded(lookup: Lookup = lookUp, allowed = isPublic): Post {
  return (url: string, { headers, body, signal }: PostInit) =>
    new Promise((resolve, reject) => {
      const { http, https, net } = node();
      // An address itself is not looked up.
      const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
      if (net.isIP(host) && !allowed(host)) {
        reject(new NotPublic(`${host} is no public address`));
        return;
      }
      const { request } = url.startsWith('https:') ? https : http;
      const length = { 'content-length': String(new TextEncoder().encode(body).length) };
      const options = { method: 'POST', agent: false, signal, lookup: guarded(lookup, allowed) };
      const sent = request(url, { ...options, headers: { ...headers, ...length } }, (incoming) => {
        // An answer of a status that no Response can have.
        try {
          resolve(answerOf(incoming));
        } catch (error) {
          incoming.destroy();
          reject(error);
        }
      });
      sent.on('error', reject);
      // Without an error too, as where it is to become another protocol.
      sent.on('close', () => reject(new Error('the connection was closed')));
      sent.end(body);
    });
}
