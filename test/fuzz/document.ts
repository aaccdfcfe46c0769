import { z } from 'zod';

export type Schema = {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  anyOf?: Schema[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  format?: string;
  example?: unknown;
};

export type Parameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  schema: Schema;
};

/** One route and method of the OpenAPI document. */
export type Operation = {
  name: string;
  method: string;
  path: string;
  parameters: Parameter[];
  body: Schema | null;
  /** Returns how an answer with this status violates the document; null if it does not. */
  judge(status: number, body: unknown): string | null;
};

// biome-ignore lint/suspicious/noExplicitAny: a document as it came
type Document = any;

/** The pattern that replaces the format date-time. */
export const instant =
  '^\\d{4,6}-[01]\\d-[0-3]\\dT[0-2]\\d:[0-5]\\d:[0-5]\\d(\\.\\d+)?(Z|[+-]\\d\\d:\\d\\d)$';

/** What a reference such as #/components/schemas/Task refers to; any other value as it is. */
function resolved(value: Document, document: Document): Document {
  if (typeof value.$ref !== 'string') return value;
  const steps = value.$ref.split('/').slice(1);
  return steps.reduce((part: Document, step: string) => part[step], document);
}

/** A schema without references. Instants have a pattern, because PostgreSQL writes them with an offset. */
function inlined(schema: Document, document: Document): Document {
  if (Array.isArray(schema)) return schema.map((item) => inlined(item, document));
  if (typeof schema !== 'object' || schema === null) return schema;
  if (typeof schema.$ref === 'string') return inlined(resolved(schema, document), document);
  const { format, ...rest } = schema;
  const entries = Object.entries(rest).map(([name, part]) => [name, inlined(part, document)]);
  const shaped = typeof format === 'string' && format !== 'date-time' ? { format } : {};
  const timed = format === 'date-time' && !schema.pattern ? { pattern: instant } : {};
  return { ...Object.fromEntries(entries), ...shaped, ...timed };
}

type Judge = (body: unknown) => string | null;

function judgeOf(schema: Document): Judge {
  const wanted = z.fromJSONSchema(schema);
  return (body) => {
    const { success, error } = wanted.safeParse(body);
    return success ? null : JSON.stringify(error.issues.slice(0, 3));
  };
}

// biome-ignore lint/suspicious/noExplicitAny: as above
function judges(responses: any, document: Document): Map<string, Judge> {
  return new Map(
    // biome-ignore lint/suspicious/noExplicitAny: as above
    Object.entries(responses).map(([status, response]: [string, any]) => {
      const { content } = resolved(response, document);
      const [{ schema }] = Object.values(content) as [{ schema: Schema }];
      return [status, judgeOf(inlined(schema, document))];
    }),
  );
}

/** All routes of the document, with their schemas. */
export function operationsOf(document: Document): Operation[] {
  return Object.entries(document.paths as Record<string, Document>).flatMap(([path, methods]) =>
    Object.entries(methods as Record<string, Document>).map(([method, route]) => {
      const answers = judges(route.responses, document);
      const content = route.requestBody?.content['application/json'].schema;
      return {
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        parameters: inlined(route.parameters ?? [], document),
        body: content ? inlined(content, document) : null,
        judge: (status, body) =>
          (answers.get(String(status)) ?? (answers.get('default') as Judge))(body),
      };
    }),
  );
}
