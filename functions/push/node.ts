import type { LookupAddress } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import type { LookupFunction } from 'node:net';
import { isPublic } from './guard.ts';
import type { Post, PostInit } from './post.ts';

/** Returns all addresses of a name. */
export type Lookup = (host: string) => Promise<LookupAddress[]>;

/** The error for a name that resolves to a private network. */
export class NotPublic extends Error {
  override name = 'NotPublic';
}

// These modules are not imported, because the Worker's bundle must not contain them.
const node = () => ({
  dns: process.getBuiltinModule('node:dns/promises'),
  http: process.getBuiltinModule('node:http'),
  https: process.getBuiltinModule('node:https'),
  net: process.getBuiltinModule('node:net'),
  stream: process.getBuiltinModule('node:stream'),
});

const lookUp: Lookup = (host) => node().dns.lookup(host, { all: true });

/** Resolves a name once, checks each address, and returns the checked ones: no second lookup can differ. */
function guardedLookup(lookup: Lookup, allowed: (address: string) => boolean): LookupFunction {
  return (host, { all }, done) => {
    lookup(host).then(
      (addresses) => {
        const forbidden = addresses.find(({ address }) => !allowed(address));
        const [first] = addresses;
        if (forbidden || !first) {
          const reason = forbidden
            ? `${host} is ${forbidden.address}, which is not a public address`
            : `${host} has no address`;
          done(new NotPublic(reason), '', 4);
        } else if (all) done(null, addresses);
        else done(null, first.address, first.family);
      },
      (error) => done(error, '', 4),
    );
  };
}

function toResponse(incoming: IncomingMessage): Response {
  const { statusCode = 502, headers } = incoming;
  const entries = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
  const hasNoBody = [204, 205, 304].includes(statusCode);
  // Some servers send a body with these answers, even an endless one.
  if (hasNoBody) incoming.destroy();
  const body = hasNoBody ? null : (node().stream.Readable.toWeb(incoming) as ReadableStream);
  return new Response(body, {
    status: statusCode,
    headers: new Headers(Object.fromEntries(entries)),
  });
}

/** Like postByFetch, on Node: connects only to checked addresses. */
export function postGuarded(lookup: Lookup = lookUp, allowed = isPublic): Post {
  return (url: string, { method = 'POST', headers, body, signal }: PostInit) =>
    new Promise((resolve, reject) => {
      const { http, https, net } = node();
      // A literal address is not looked up.
      const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
      if (net.isIP(host) && !allowed(host)) {
        reject(new NotPublic(`${host} is not a public address`));
        return;
      }
      const { request } = url.startsWith('https:') ? https : http;
      const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body;
      const length = bytes && { 'content-length': String(bytes.length) };
      const options = {
        method,
        agent: false,
        signal,
        lookup: guardedLookup(lookup, allowed),
      };
      const sent = request(url, { ...options, headers: { ...headers, ...length } }, (incoming) => {
        // Response throws a RangeError for some statuses.
        try {
          resolve(toResponse(incoming));
        } catch (error) {
          incoming.destroy();
          reject(error);
        }
      });
      sent.on('error', reject);
      // The connection may close without an error, for example after an upgrade to another protocol.
      sent.on('close', () => reject(new Error('the connection was closed')));
      sent.end(bytes ?? undefined);
    });
}
