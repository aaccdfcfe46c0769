import ipaddr from 'ipaddr.js';
import type { Bindings } from '../env.ts';
import { refusal } from '../http/problem.ts';

/** Names that only a network of one's own knows. */
const ownNames =
  /(^|\.)(localhost|localdomain|local|internal|intranet|lan|home|corp|private|home\.arpa)$/;

/** The default of https is '': on any other port there may be something else than what takes pushes. */
const ports = ['', '8443'];

const global6 = ipaddr.parseCIDR('2000::/3');

/** Whether an address is one of the public Internet: all that is special is not, also what hides an IPv4 address. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  return parsed.range() === 'unicast' && (parsed.kind() === 'ipv4' || parsed.match(global6));
}

export const allowsPrivate = ({ TOCK_PUSH_PRIVATE }: Bindings) => TOCK_PUSH_PRIVATE === 'allow';

/** Why nothing is sent to a URL, as far as it shows without looking its name up; null when it may be. */
export function objection(url: string, env: Bindings): string | null {
  if (!URL.canParse(url)) return 'it is no URL';
  const { protocol, username, password, hostname, port } = new URL(url);
  if (username || password) return 'it names a user';
  if (allowsPrivate(env)) return /^https?:$/.test(protocol) ? null : 'it is neither https nor http';
  if (protocol !== 'https:') return 'it is not https';
  if (!ports.includes(port)) return `port ${port} is not 443 or 8443`;
  // URL has made plain numbers of 0x7f.1 and the like.
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.+$/, '');
  if (ipaddr.isValid(host)) return isPublic(host) ? null : `${host} is no public address`;
  if (ownNames.test(host) || !host.includes('.')) return `${host} is no public name`;
  return null;
}

const hint =
  'Give a public https URL; a Worker on your own machine may have TOCK_PUSH_PRIVATE=allow.';

/** A 422 on the field of a URL that nothing would be sent to. Where its name leads is judged at each delivery. */
export function checkTarget(field: string, url: unknown, env: Bindings): void {
  const why = typeof url === 'string' ? objection(url, env) : null;
  if (why) throw refusal(422, `${field}: ${why}`, { field, hint });
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
