import type { MiddlewareHandler } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import type { Env } from './endpoint.ts';

/** For answers that are data: in a browser they run no code, are not framed and send no requests. */
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
  // The dashboard's page sets its own policy.
  overwrite: false,
};

const overHttp = secureHeaders({ ...forData, strictTransportSecurity: false });
// Without includeSubDomains: other hosts of the domain are not Tock's.
const overHttps = secureHeaders({ ...forData, strictTransportSecurity: 'max-age=31536000' });

/** Keeps browsers from misusing an answer, including refusals. */
export const securityHeaders: MiddlewareHandler<Env> = async (c, next) => {
  await (c.req.url.startsWith('https:') ? overHttps : overHttp)(c, next);
  if (!c.res.headers.has('Cache-Control')) c.header('Cache-Control', 'no-store');
};
