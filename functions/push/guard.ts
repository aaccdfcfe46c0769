import ipaddr from 'ipaddr.js';
import type { Bindings } from '../env.ts';
import { refusal } from '../http/problem.ts';

/** Names that only a private network resolves. */
const privateNames =
  /(^|\.)(localhost|localdomain|local|internal|intranet|lan|home|corp|private|home\.arpa)$/;

/** Allowed ports: '' is https's default port. Other ports may belong to services that are no webhooks. */
const ports = ['', '8443'];

const global6 = ipaddr.parseCIDR('2000::/3');

/** True for an address on the public Internet; false for special ranges, including those that embed an IPv4 address. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(global6));
}

export const allowsPrivate = ({ TOCK_PUSH_PRIVATE }: Bindings) => TOCK_PUSH_PRIVATE === 'allow';

/** Why a URL is refused, without resolving its name; null if it is allowed. */
export function refusalReason(url: string, env: Bindings): string | null {
  if (!URL.canParse(url)) return 'it is not a valid URL';
  const { protocol, username, password, hostname, port } = new URL(url);
  if (username || password) return 'it contains a user name or password';
  if (allowsPrivate(env)) return /^https?:$/.test(protocol) ? null : 'it is neither https nor http';
  if (protocol !== 'https:') return 'it is not https';
  if (!ports.includes(port)) return `port ${port} is not 443 or 8443`;
  // new URL() has already converted forms like 0x7f.1 to 127.0.0.1.
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.+$/, '');
  if (ipaddr.isValid(host)) return isPublic(host) ? null : `${host} is not a public address`;
  if (privateNames.test(host) || !host.includes('.')) return `${host} is not a public name`;
  return null;
}

const hint = 'Use a public https URL; for local development set TOCK_PUSH_PRIVATE=allow.';

/** Throws a 422 for a forbidden URL. The resolved address is checked at each delivery. */
export function checkTarget(field: string, url: unknown, env: Bindings): void {
  const reason = typeof url === 'string' ? refusalReason(url, env) : null;
  if (reason) throw refusal(422, `${field}: ${reason}`, { field, hint });
}

/** The same for the push_url of each task. */
export function checkTargets(
  path: string,
  tasks: readonly { push_url?: string | null | undefined }[],
  env: Bindings,
): void {
  for (const [n, { push_url }] of tasks.entries()) {
    checkTarget(`${path}[${n}].push_url`, push_url, env);
  }
}
