import type { App } from '../http/endpoint.ts';

/** /openapi.json, from the schemas that validate requests: mounted last, after all routes. */
export function openapi(app: App): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'key', {
    type: 'http',
    scheme: 'bearer',
    description: 'A key with the scope enqueue, claim, read or admin, for all queues or some.',
  });
  let text: string | undefined;
  app.get('/openapi.json', (c) => {
    text ??= JSON.stringify(
      app.getOpenAPI31Document({
        openapi: '3.1.0',
        info: {
          title: 'Tock',
          version: '1',
          description: 'A task queue and scheduler in PostgreSQL.',
        },
      }),
    );
    return c.body(text, 200, { 'Content-Type': 'application/json' });
  });
}
