import {
  type Content,
  type Operation,
  openApiDocument,
  operationsOf,
  type Schema,
} from './openapi.ts';

const cell = (text = '') => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
const refOf = ({ $ref = '' }: Schema) => $ref.split('/').at(-1) ?? '';

function typeOf(schema: Schema): string {
  if (schema.$ref) return `[${refOf(schema)}](#${refOf(schema).toLowerCase()})`;
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``;
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.allOf) return schema.allOf.map(typeOf).join(' and ');
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' or ');
  const types = [schema.type ?? 'any JSON'].flat();
  return types
    .map((type) => (type === 'array' && schema.items ? `array of ${typeOf(schema.items)}` : type))
    .join(' or ');
}

/** A row for each field, also for those of objects inside, with their path. */
function rowsOf(schema: Schema, path = ''): string[] {
  const alternatives = schema.anyOf ?? schema.allOf;
  if (alternatives) return [...new Set(alternatives.flatMap((one) => rowsOf(one, path)))];
  if (schema.items) return rowsOf(schema.items, `${path}[]`);
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const full = path ? `${path}.${name}` : name;
    const must = schema.required?.includes(name) ? 'yes' : '';
    return [
      `| \`${full}\` | ${cell(typeOf(field))} | ${must} | ${cell(field.description)} |`,
      ...rowsOf(field, full),
    ];
  });
}

const tableOf = (rows: string[], kind: string) =>
  rows.length === 0
    ? []
    : [
        `| ${kind} | type | ${kind.endsWith('answer') ? 'always' : 'required'} | meaning |\n|---|---|---|---|\n${rows.join('\n')}`,
      ];

const schemaOf = ({ content }: Content) => Object.values(content ?? {})[0]?.schema ?? {};
const route = (method: string, path: string) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
const anchor = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');

function operation(
  title: string,
  { summary, description, parameters = [], requestBody, responses }: Operation,
): string {
  const inputs = parameters.map(
    (one) =>
      `| \`${one.name}\` (${one.in}) | ${cell(typeOf(one.schema))} | ${one.required ? 'yes' : ''} | ${cell(one.description)} |`,
  );
  const schema = requestBody ? schemaOf(requestBody) : {};
  const forms = schema.anyOf ?? [schema];
  const [status = '200', answer = {}] =
    Object.entries(responses).find(([code]) => /^2/.test(code)) ?? [];
  return [
    `#### ${title}`,
    `${summary}.${description ? ` ${description}` : ''}`,
    ...tableOf(inputs, 'parameter'),
    ...forms.flatMap((form, n) => [
      ...(forms.length > 1 ? [n === 0 ? 'The body has one of these forms.' : 'Or:'] : []),
      ...tableOf(rowsOf(form), 'field of the body'),
    ]),
    `Answer ${status}: ${answer.description ?? ''}`,
    ...tableOf(rowsOf(schemaOf(answer)), 'field of the answer'),
  ].join('\n\n');
}

/** The routes by tag, from the OpenAPI document. */
export async function httpReference(): Promise<string> {
  const document = await openApiDocument();
  const all = operationsOf(document).map(({ method, path, operation: one }) => ({
    title: route(method, path),
    one,
  }));
  const chapters = document.tags.map(({ name, description }) => {
    const own = all.filter(({ one }) => one.tags.includes(name));
    const index = own.map(
      ({ title, one }) => `| [\`${title}\`](#${anchor(title)}) | ${cell(one.summary)} |`,
    );
    return [
      `### ${name}`,
      description,
      `| route | what it does |\n|---|---|\n${index.join('\n')}`,
      ...own.map(({ title, one }) => operation(title, one)),
    ].join('\n\n');
  });
  const shared = Object.entries(document.components.schemas).map(([name, schema]) =>
    [
      `### ${name}`,
      ...(schema.description ? [schema.description] : []),
      ...tableOf(rowsOf(schema), 'field'),
    ].join('\n\n'),
  );
  return [...chapters, '## Shared objects', ...shared].join('\n\n');
}
