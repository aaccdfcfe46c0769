import type { App } from '../http/endpoint.ts';
import { refusal } from '../http/problem.ts';

/** The build generates this file. It is imported only when a page is requested. */
const built = () => import('../errors/built.ts');

const missing = {
  errors: { field: 'code', detail: 'There is no error with this code.', names: 'The codes' },
  findings: { field: 'name', detail: 'There is no finding with this name.', names: 'The names' },
};

/**
 * /errors/TK422 is the page to which the `type` of a problem leads. /findings/the-clocks-differ is the `page` of a
 * finding of the doctor. Both need no key.
 */
export function pages(app: App): void {
  for (const kind of ['errors', 'findings'] as const) {
    const { field, detail, names } = missing[kind];
    app.get(`/${kind}/:name`, async (c) => {
      const known = (await built())[kind];
      const name = c.req.param('name');
      const page = Object.hasOwn(known, name) ? known[name] : undefined;
      if (page !== undefined) return c.text(page);
      const hint = `${names} are ${Object.keys(known).join(', ')}.`;
      throw refusal(404, detail, { field, hint });
    });
  }
}
