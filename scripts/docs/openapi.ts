import { createApp } from '../../functions/http/app.ts';

/** The part of JSON Schema that the OpenAPI document uses. */
export type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  pattern?: string;
  description?: string;
};

export type Content = { content?: Record<string, { schema: Schema }> };

export type Parameter = {
  in: string;
  name: string;
  required?: boolean;
  description?: string;
  schema: Schema;
};

export type Operation = {
  tags: string[];
  summary: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: Content & { required?: boolean };
  responses: Record<string, Content & { description?: string }>;
};

export type Document = {
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

/** The OpenAPI document as the server gives it. It needs no database. */
export async function openApiDocument(): Promise<Document> {
  const app = createApp(() => Promise.reject(new Error('The document needs no database.')));
  return (await (await app.request('/openapi.json')).json()) as Document;
}

/** All operations of the document, with their method in capitals. */
export function operationsOf({ paths }: Document) {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      method: method.toUpperCase(),
      path,
      operation,
    })),
  );
}
