import type { MiddlewareHandler } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import type { Env } from './endpoint.ts';

/** For answers that are data: whoever shows one as a page gets nothing to run, to frame or to send on. */
const forData = {
  contentSecurityPolicy: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  crossOriginResourcePolicy: 'same-origin',
  referrerPolicy: 'no-referrer',
  xContentTypeOptions: 'nosniff',
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
  xDnsPrefetchControl: false,
  xDownloadOptions: false,
  xFrameOptions: false,
  xPermittedCrossDomainPolicies: false,
  xXssProtection: false,
  removePoweredBy: false,
  // A page of our own says itself what it may do.
  overwrite: false,
};

const overHttp = secureHeaders({ ...forData, strictTransportSecurity: false });
// Without includeSubDomains: the others of its domain are not Tock's to decide on.
const overHttps = secureHeaders({ ...forData, strictTransportSecurity: 'max-age=31536000' });

/** What keeps browsers from misusing an answer, a refusal too. */
export const securityHeaders: MiddlewareHandler<Env> = async (c, next) => {
  await (c.req.url.startsWith('https:') ? overHttps : overHttp)(c, next);
  if (!c.res.headers.has('Cache-Control')) c.header('Cache-Control', 'no-store');
};
