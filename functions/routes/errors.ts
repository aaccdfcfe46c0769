import type { App } from '../http/endpoint.ts';
import { refusal } from '../http/problem.ts';

/** The build generates this file. It is imported only when a page is requested. */
const built = () => import('../errors/built.ts');

/** /errors/TK422 is the page to which the `type` of a problem leads. It needs no key. */
export function errors(app: App): void {
  app.get('/errors/:code', async (c) => {
    const { pages } = await built();
    const code = c.req.param('code');
    const page = Object.hasOwn(pages, code) ? pages[code] : undefined;
    if (page === undefined) {
      const hint = `The codes are ${Object.keys(pages).join(', ')}.`;
      throw refusal(404, 'There is no error with this code.', { field: 'code', hint });
    }
    return c.text(page);
  });
}
