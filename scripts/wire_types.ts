import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApp } from '../functions/http/app.ts';
import { checkout } from './stack/place.ts';

/** What the client, the command line and the dashboard import: `npm run wire` makes it anew. */
export const wireFile = join(checkout, 'client', 'wire.ts');

/** JSON Schema, as far as our document uses it. */
type Schema = {
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
type Content = { content?: Record<string, { schema: Schema }> };
type Parameter = { in: string; name: string; required?: boolean; schema: Schema };
type Operation = {
  summary: string;
  parameters?: Parameter[];
  requestBody?: Content & { required?: boolean };
  responses: Record<string, Content>;
};
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

/** An answer has every field that its schema names. What may hold any JSON is no required field to JSON Schema. */
type Use = 'asked' | 'answered';

const isAny = ({ description, ...rest }: Schema) => Object.keys(rest).length === 0;
const key = (name: string) => (/^\w+$/.test(name) ? name : `'${name}'`);
const comment = (text: string | undefined) => (text ? `/** ${text} */\n` : '');

function objectOf({ properties = {}, required = [], additionalProperties }: Schema, use: Use) {
  const more = typeof additionalProperties === 'object' ? additionalProperties : null;
  if (more) return `Record<string, ${typeOf(more, use)}>`;
  const fields = Object.entries(properties).map(([name, schema]) => {
    const isThere = required.includes(name) || (use === 'answered' && isAny(schema));
    return `${comment(isAny(schema) ? undefined : schema.description)}${key(name)}${isThere ? '' : '?'}: ${typeOf(schema, use)};`;
  });
  return fields.length === 0 ? 'object' : `{\n${fields.join('\n')}\n}`;
}

function named(type: string, schema: Schema, use: Use): string {
  if (type === 'array') return `(${typeOf(schema.items ?? {}, use)})[]`;
  if (type === 'object') return objectOf(schema, use);
  return type === 'integer' ? 'number' : type;
}

function typeOf(schema: Schema, use: Use): string {
  const { $ref, type, anyOf, allOf } = schema;
  if ($ref) return $ref.split('/').at(-1) ?? '';
  const values = schema.enum ?? ('const' in schema ? [schema.const] : null);
  if (values) return values.map((value) => JSON.stringify(value)).join(' | ');
  if (anyOf) return anyOf.map((form) => typeOf(form, use)).join(' | ');
  if (allOf) return allOf.map((part) => typeOf(part, use)).join(' & ');
  if (!type) return 'unknown';
  return [type]
    .flat()
    .map((one) => named(one, schema, use))
    .join(' | ');
}

/** In a query string all is text: what is a number or a flag may be given as one. */
function inQuery(schema: Schema): Schema {
  if (schema.pattern === '^\\d{1,9}$') return { type: 'integer' };
  return schema.enum?.join() === 'true,false' ? { type: 'boolean' } : schema;
}

function parametersOf(parameters: Parameter[], place: string): string {
  const fields = parameters
    .filter((one) => one.in === place)
    .map(({ name, required, schema }) => {
      const type = typeOf(place === 'query' ? inQuery(schema) : schema, 'asked');
      return `${key(name)}${required ? '' : '?'}: ${type};`;
    });
  return fields.length === 0 ? 'unknown' : `{\n${fields.join('\n')}\n}`;
}

function routeOf(route: string, operation: Operation): string {
  const { parameters = [], requestBody, responses } = operation;
  const [answer = {}] = Object.entries(responses)
    .filter(([status]) => /^2/.test(status))
    .map(([, { content }]) => Object.values(content ?? {})[0]?.schema);
  const asked = requestBody?.content?.['application/json']?.schema;
  return `${comment(operation.summary)}'${route}': {
    path: ${parametersOf(parameters, 'path')};
    query: ${parametersOf(parameters, 'query')};
    body: ${asked ? typeOf(asked, 'asked') : 'undefined'};
    answer: ${typeOf(answer, 'answered')};
  };`;
}

function textOf({ paths, components }: Document): string {
  const named = Object.entries(components.schemas)
    .map(([name, schema]) => `export type ${name} = ${typeOf(schema, 'asked')};\n`)
    .join('\n');
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      routeOf(`${method.toUpperCase()} ${path}`, operation),
    ),
  );
  return `// Made by scripts/wire_types.ts from the OpenAPI document.

${named}
/** What each route takes, and what it answers. */
export type Routes = {
${routes.join('\n')}
};

export type Route = keyof Routes;
export type Answer<R extends Route> = Routes[R]['answer'];
export type Body<R extends Route> = Routes[R]['body'];
export type Query<R extends Route> = Routes[R]['query'];
`;
}

/** The file as it is to be, formatted as all others are. */
export async function wireTypes(): Promise<string> {
  const app = createApp(async () => {
    throw new Error('No statement makes the document.');
  });
  const answer = await app.request('/openapi.json');
  const input = textOf((await answer.json()) as Document);
  const biome = join(checkout, 'node_modules', '.bin', 'biome');
  const { stdout, stderr, status } = spawnSync(
    biome,
    ['format', '--stdin-file-path=client/wire.ts'],
    { input, encoding: 'utf8', cwd: checkout },
  );
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

if (import.meta.main) writeFileSync(wireFile, await wireTypes());
