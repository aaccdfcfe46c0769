import { registerRefusals, tags } from '../http/document.ts';
import type { App } from '../http/endpoint.ts';

const description = `Tock is a task queue and scheduler in PostgreSQL. Requests and answers are JSON.
An id is a whole number in a string, because a JSON number cannot hold 64 bits.
An instant is ISO 8601 with its zone.
A refused call returns a problem (RFC 9457) as application/problem+json.
Durations are seconds. The next page of a list needs the \`cursor\` of the answer, which is null on the last page.
A request id makes a call that adds or claims tasks safe to repeat after a lost answer.`;

/** /openapi.json, from the schemas that validate requests: mounted last, after all routes. */
export function openapi(app: App): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'key', {
    type: 'http',
    scheme: 'bearer',
    description:
      'An API key has one or more of the scopes `enqueue`, `claim`, `read` and `admin`, for all queues or some. POST /v1/keys creates one.',
  });
  registerRefusals(app.openAPIRegistry);
  let text: string | undefined;
  app.get('/openapi.json', (c) => {
    text ??= JSON.stringify(
      app.getOpenAPI31Document({
        openapi: '3.1.0',
        info: {
          title: 'Tock',
          version: '1',
          description,
          license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
        },
        servers: [{ url: '/', description: 'The server of this document.' }],
        tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
      }),
    );
    return c.body(text, 200, { 'Content-Type': 'application/json' });
  });
}
