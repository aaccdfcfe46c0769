import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApp } from '../functions/http/app.ts';
import { checkout } from './stack/paths.ts';

/** The types that client, command line and dashboard import; `npm run wire` generates them. */
export const wireFile = join(checkout, 'client', 'wire.ts');

/** The part of JSON Schema that the OpenAPI document uses. */
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

/** An answer has every field of its schema, also those of any JSON type, which the schema does not list as required. */
type Use = 'request' | 'response';

const isAny = ({ description, ...rest }: Schema) => Object.keys(rest).length === 0;
const key = (name: string) => (/^\w+$/.test(name) ? name : `'${name}'`);
/** The width of a comment's text; the deepest one is indented by twelve columns. */
const WIDTH = 90;

function comment(text: string | undefined): string {
  if (!text) return '';
  if (text.includes('*/')) throw new Error(`A description ends its comment: ${text}`);
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < WIDTH)
      lines.push(`${lines.pop()} ${word}`);
    else lines.push(word);
  }
  if (lines.length === 1) return `/** ${text} */\n`;
  return `/**\n${lines.map((line) => ` * ${line}\n`).join('')} */\n`;
}

function objectOf({ properties = {}, required = [], additionalProperties }: Schema, use: Use) {
  const more = typeof additionalProperties === 'object' ? additionalProperties : null;
  if (more) return `Record<string, ${typeOf(more, use)}>`;
  const fields = Object.entries(properties).map(([name, schema]) => {
    const isThere = required.includes(name) || (use === 'response' && isAny(schema));
    const { description } = schema;
    return `${comment(description === 'Any JSON.' ? undefined : description)}${key(name)}${isThere ? '' : '?'}: ${typeOf(schema, use)};`;
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
    .map((parameter) => named(parameter, schema, use))
    .join(' | ');
}

/** All values of a query string are text. A caller may pass numbers and flags with their own types. */
function inQuery(schema: Schema): Schema {
  if (schema.pattern === '^\\d{1,9}$') return { type: 'integer' };
  return schema.enum?.join() === 'true,false' ? { type: 'boolean' } : schema;
}

function parametersOf(parameters: Parameter[], location: string): string {
  const fields = parameters
    .filter((parameter) => parameter.in === location)
    .map(({ name, required, schema }) => {
      const type = typeOf(location === 'query' ? inQuery(schema) : schema, 'request');
      const text = location === 'query' ? comment(schema.description) : '';
      return `${text}${key(name)}${required ? '' : '?'}: ${type};`;
    });
  return fields.length === 0 ? 'unknown' : `{\n${fields.join('\n')}\n}`;
}

function routeOf(route: string, operation: Operation): string {
  const { parameters = [], requestBody, responses } = operation;
  const [answer = {}] = Object.entries(responses)
    .filter(([status]) => /^2/.test(status))
    .map(([, { content }]) => Object.values(content ?? {})[0]?.schema);
  const bodySchema = requestBody?.content?.['application/json']?.schema;
  return `${comment(operation.summary)}'${route}': {
    path: ${parametersOf(parameters, 'path')};
    query: ${parametersOf(parameters, 'query')};
    body: ${bodySchema ? typeOf(bodySchema, 'request') : 'undefined'};
    answer: ${typeOf(answer, 'response')};
  };`;
}

function textOf({ paths, components }: Document): string {
  const named = Object.entries(components.schemas)
    .map(([name, schema]) => `export type ${name} = ${typeOf(schema, 'request')};\n`)
    .join('\n');
  const routes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      routeOf(`${method.toUpperCase()} ${path}`, operation),
    ),
  );
  return `// Generated by scripts/wire_types.ts from the OpenAPI document.

${named}
/** The input and the answer of each route. */
export type Routes = {
${routes.join('\n')}
};

export type Route = keyof Routes;
export type Answer<R extends Route> = Routes[R]['answer'];
export type Body<R extends Route> = Routes[R]['body'];
export type Query<R extends Route> = Routes[R]['query'];
`;
}

/** The generated text, formatted like all other files. */
export async function wireTypes(): Promise<string> {
  const app = createApp(async () => {
    throw new Error('The document is built without a database.');
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
