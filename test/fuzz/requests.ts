import fc from 'fast-check';
import type { Operation, Parameter } from './document.ts';
import { dates, injections, invalidValues } from './hostile_values.ts';
import { valuesOf, Written, written } from './values.ts';

/** A generated request. Its Picks are replaced by values of earlier answers when it is sent. */
export type Plan = {
  name: string;
  method: string;
  path: string;
  params: Record<string, unknown>;
  /** A list, because a name may be missing or appear twice. */
  query: [name: string, value: unknown][];
  headers: Record<string, string>;
  /** The body, null without one. */
  body: unknown;
  /** If set, it is sent instead of `body`. */
  raw?: string | Uint8Array;
};

const isIn = (where: string) => (parameter: Parameter) => parameter.in === where;

type Params = Plan['params'];

function some(parameters: Parameter[]): fc.Arbitrary<Params> {
  const properties = Object.fromEntries(parameters.map(({ name, schema }) => [name, schema]));
  const required = parameters.flatMap(({ name, required }) => (required ? [name] : []));
  return valuesOf({ type: 'object', properties, required }) as fc.Arbitrary<Params>;
}

/** Generates requests that the document allows. */
export function validOf(operation: Operation): fc.Arbitrary<Plan> {
  const { name, method, path, parameters, body } = operation;
  return fc.record({
    name: fc.constant(name),
    method: fc.constant(method),
    path: fc.constant(path),
    params: some(parameters.filter(isIn('path'))),
    query: some(parameters.filter(isIn('query'))).map((query) => Object.entries(query)),
    headers: fc.constant({}),
    body: body ? valuesOf(body) : fc.constant(null),
  });
}

type Place = { holder: Record<string | number, unknown>; key: string | number };

/** The places of all values in a body. */
function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null || value instanceof Written || 'pick' in value)
    return [];
  const holder = value as Place['holder'];
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesIn(holder[key])]);
}

/** A copy of a body in which one value is changed, removed or added. */
function spoiled(body: unknown, how: string, at: number, wrong: string): unknown {
  const root = { body: structuredClonePlain(body) };
  const positions = placesIn(root);
  const { holder, key } = positions[at % positions.length] as Place;
  if (how === 'gone') delete holder[key];
  else if (
    how === 'more' &&
    typeof holder[key] === 'object' &&
    holder[key] !== null &&
    !Array.isArray(holder[key])
  ) {
    (holder[key] as Record<string, unknown>)[at % 2 ? 'extra' : 'priority '] = written(wrong);
  } else holder[key] = written(wrong);
  return root.body ?? null;
}

// structuredClone() would convert a Written to a plain object.
function structuredClonePlain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(structuredClonePlain);
  if (typeof value !== 'object' || value === null || value instanceof Written) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [key, structuredClonePlain(part)]),
  );
}

const odd = fc.constantFrom(
  ...injections,
  ...dates,
  ...'0 -1 00000001 9223372036854775808 1234567890123456789012345 ../../etc *'.split(' '),
  ...['', ' ', '\0', 'a\0b', 'x'.repeat(5000)],
);

type Spoil = { where: string; how: string; at: number; wrong: string; odd: string };

function spoil(plan: Plan, operation: Operation, { where, how, at, wrong, odd }: Spoil): Plan {
  const inPath = Object.keys(plan.params);
  if (where === 'path' && inPath.length > 0) {
    return { ...plan, params: { ...plan.params, [inPath[at % inPath.length] as string]: odd } };
  }
  if (where === 'query') {
    const [names, extra] = [
      operation.parameters.filter(isIn('query')).map((parameter) => parameter.name),
      ['extra', '__proto__', odd],
    ];
    const name = [...names, ...names, ...extra][at % (2 * names.length + 3)] as string;
    return {
      ...plan,
      query: [...plan.query.filter(([key]) => at % 3 === 0 || key !== name), [name, odd]],
    };
  }
  if (where === 'header' || operation.body === null) {
    const names = 'Idempotency-Key X-Request-Id Content-Type Accept Origin Authorization'.split(
      ' ',
    );
    const name = names[at % 6] as string;
    return { ...plan, headers: { ...plan.headers, [name]: odd } };
  }
  return { ...plan, body: spoiled(plan.body, how, at, wrong) };
}

/** Generates requests with one mistake; sometimes the change happens to be valid. */
export function invalidOf(operation: Operation): fc.Arbitrary<Plan> {
  const where = fc.constantFrom('body', 'body', 'body', 'path', 'query', 'header');
  return fc
    .tuple(
      validOf(operation),
      fc.record({
        where,
        how: fc.constantFrom('other', 'other', 'gone', 'more'),
        at: fc.nat(1000),
        wrong: fc.constantFrom(...invalidValues),
        odd,
      }),
    )
    .map(([plan, how]) => spoil(plan, operation, how));
}

const bytes = fc.uint8Array({ maxLength: 300 });
const pieces = fc
  .array(
    fc.constantFrom(
      ...'{ } [ ] " : , \\u0000 \\ \\ud800 tasks payload 1e999 - \0 \ufeff null'.split(' '),
      ...['{"tasks":[', '{"payload":', "'"],
    ),
    { maxLength: 20 },
  )
  .map((all) => all.join(''));
const whole = fc.constantFrom(
  '[]',
  'null',
  '""',
  '{"tasks":[{}]}',
  '{"a":1}{"b":2}',
  `{"payload":${'['.repeat(10_000)}${']'.repeat(10_000)}}`,
  `{"payload":${'['.repeat(10_000)}`,
  `{"payload":"${'x'.repeat(300_000)}"}`,
  `{"${'k'.repeat(300_000)}":1}`,
  `{"payload":${'9'.repeat(100_000)}}`,
  `{"payload":1,"payload":2,"request_id":"a","request_id":"b"}`,
  '{"payload":"\\u0000"}',
  '{"payload":{"\\ud800":1}}',
  '{"__proto__":{"tasks":[]},"constructor":1}',
);
const types = fc.constantFrom(
  'application/json',
  'application/json; charset=utf-16',
  'application/problem+json',
  'text/plain',
  'multipart/form-data; boundary=x',
  'application/x-www-form-urlencoded',
  'application/json, text/html',
  '',
  'x'.repeat(2000),
);
const methods = fc.constantFrom(...'GET HEAD OPTIONS POST PUT PATCH DELETE PROPFIND'.split(' '));
const tails = fc.constantFrom(
  ...['', '', `/${'x'.repeat(8000)}`, `?${'a=1&'.repeat(2000)}`],
  ...'/ // ? ?% ?a=1&a=2 ?%00=1 ?limit=%ff ?__proto__=1 /%00 /%ff /%2F..%2f /..;/ #x'.split(' '),
);

/** Generates requests with meaningless bodies, methods, media types and paths. */
export function garbageOf(operation: Operation): fc.Arbitrary<Plan> {
  const { parameters } = operation;
  return fc
    .tuple(
      validOf(operation),
      fc.oneof(bytes, pieces, whole),
      types,
      fc.option(methods, { freq: 4, nil: operation.method }),
      tails,
      odd,
    )
    .map(([plan, raw, type, method, tail, value]) => {
      const [first] = parameters.filter(isIn('path'));
      const params =
        first && tail === '' && type.length % 2
          ? { ...plan.params, [first.name]: value }
          : plan.params;
      const bare = method === 'GET' || method === 'HEAD';
      const headers: Plan['headers'] = type === '' ? {} : { 'Content-Type': type };
      return {
        ...plan,
        method,
        path: plan.path + tail,
        params,
        headers,
        ...(!bare && { raw }),
        body: null,
      };
    });
}
