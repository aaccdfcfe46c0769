import { getRuntimeKey } from 'hono/adapter';
import { compress } from 'hono/compress';
import type { App } from '../http/endpoint.ts';

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const types: Record<string, string> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

/** The build generates this file. It is imported only when the page is requested. */
const built = () => import('../dashboard/built.ts');

/** The dashboard: one page, which calls the routes with the key of the signed-in user. */
export function dashboard(app: App): void {
  // Cloudflare compresses by itself, and would compress again.
  if (getRuntimeKey() === 'node') app.use('/dashboard/*', compress());
  app.get('/', async (c) => {
    const { page } = await built();
    c.header('Content-Security-Policy', policy);
    return c.html(page);
  });
  app.get('/dashboard/:file', async (c, next) => {
    const { assets } = await built();
    const file = c.req.param('file');
    const text = Object.hasOwn(assets, file) ? assets[file] : undefined;
    if (text === undefined) return next();
    // The file name changes with the content.
    c.header('Cache-Control', 'public, max-age=31536000, immutable');
    return c.body(text, 200, { 'Content-Type': types[file.split('.').at(-1) ?? ''] ?? '' });
  });
}
