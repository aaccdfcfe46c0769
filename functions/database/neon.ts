import type { Bindings } from '../env.ts';
import { misconfigured } from './errors.ts';

type Neon = { url: string; proxy: URL | undefined };

/** Where Neon is; the driver would put an unreadable URL, with its password, into its error. */
export function neonOf({ DATABASE_URL: url = '', TOCK_NEON_PROXY: proxy }: Bindings): Neon {
  if (!/^postgres(ql)?:/.test(url) || !URL.canParse(url.replace(/^\w+:/, 'http:'))) {
    throw misconfigured(
      'DATABASE_URL is no URL.',
      'set it to postgres://user:password@host/database; characters like / # ? in it are escaped',
    );
  }
  if (proxy && !/^https?:\/\/[^/]+\/?$/.test(proxy)) {
    throw misconfigured(
      'TOCK_NEON_PROXY is not the address of a proxy.',
      'set it to https://host or https://host:port, or leave it out',
    );
  }
  return { url, proxy: proxy ? new URL(proxy) : undefined };
}
