import type { Bindings } from '../env.ts';
import { misconfigured } from './errors.ts';

type Neon = { url: string; proxy: URL | undefined };

/** Neon's address. An invalid URL is refused here, because the driver's error would contain it with its password. */
export function neonOf({ DATABASE_URL: url = '', TOCK_NEON_PROXY: proxy }: Bindings): Neon {
  if (!/^postgres(ql)?:/.test(url) || !URL.canParse(url.replace(/^\w+:/, 'http:'))) {
    throw misconfigured(
      'DATABASE_URL is not a valid URL.',
      'set it to postgres://user:password@host/database; escape characters like / # ? in the password',
    );
  }
  if (proxy && !/^https?:\/\/[^/]+\/?$/.test(proxy)) {
    throw misconfigured(
      'TOCK_NEON_PROXY is not a valid proxy URL.',
      'set it to https://host or https://host:port, or leave it out',
    );
  }
  return { url, proxy: proxy ? new URL(proxy) : undefined };
}
