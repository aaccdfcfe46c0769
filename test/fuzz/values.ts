import fc from 'fast-check';
import { instant, type Schema } from './document.ts';
import { cursors, dates, injections, numbers } from './hostile_values.ts';

/** Stands for a value of an earlier answer, because that is not known when a request is generated. */
export type Pick = { pick: string; n: number };

/** JSON text that is sent unchanged, because it may have numbers that no double holds, or repeated keys. */
export class Written {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export const written = (text: string) => new Written(text);

/** The JSON of a value with written parts. */
export function jsonOf(value: unknown): string {
  if (value instanceof Written) return value.text;
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const pairs = Object.entries(value).map(
    ([key, part]) => `${JSON.stringify(key)}:${jsonOf(part)}`,
  );
  return `{${pairs.join(',')}}`;
}

const pick = (of: string): fc.Arbitrary<Pick> => fc.nat(40).map((n) => ({ pick: of, n }));

/** Generates well-formed Unicode text without NUL. Most texts are short; some have the maximum length. */
function someText(min: number, max: number): fc.Arbitrary<string> {
  const fitted = (text: string) => {
    const cut = text.replaceAll('\0', '0').slice(0, max).toWellFormed().replaceAll('\ufffd', '?');
    return cut.padEnd(min, 'x');
  };
  const unit = fc.constantFrom('grapheme' as const, 'binary' as const, 'grapheme-ascii' as const);
  return fc.oneof(
    {
      weight: 3,
      arbitrary: unit
        .chain((character) => fc.string({ unit: character, maxLength: 12 }))
        .map(fitted),
    },
    { weight: 3, arbitrary: fc.constantFrom(...injections).map(fitted) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('x', '\u{1f600}', "'", '\\').map((c) => fitted(c.repeat(max))),
    },
  );
}

/** Generates any JSON that PostgreSQL can store, with up to 500 levels, and with numbers in any form. */
const anyJson: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(...numbers).map(written),
  someText(0, 2000),
  fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom(null, true, false, 0, ''),
      fc.constantFrom(...numbers).map(written),
      someText(0, 40),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(someText(0, 20), tie('value'), { maxKeys: 4 }),
    ),
  })).value,
  fc.integer({ min: 1, max: 500 }).map((depth) => written('['.repeat(depth) + ']'.repeat(depth))),
  fc.constant(
    written('{"a": 1, "a": {"a": 2}, "\\u0061": 3, "__proto__": {"b": 1}, "constructor": null}'),
  ),
);

// For these patterns a random text would be valid but unknown to the database, so known values are used.
const kept = new Map<RegExp, string>([
  [/^\^\[1-9\]/, 'id'],
  [/0-9a-fA-F/, 'lease'],
  [/0-9a-f\]\{2,/, 'cursor'],
  [/tock_/, 'prefix'],
]);
// These fields take a few common values, so that several requests use the same one.
const often: Record<string, string[]> = {
  concurrency_key: ["it's", 'g'],
  worker: ['w', "o'w"],
  task: ['t', 't;--'],
  unique_key: ['u', "u'"],
  tenant: ['n', "'n"],
  cron: ['* * * * *', '0 3 * * MON-FRI', '59 59 23 31 12 *', '0 0 29 2 *', '*/7 */5 1-31/2 * 0'],
  time_zone: ['Europe/Berlin', 'UTC', 'Australia/Lord_Howe', 'utc'],
  push_url: ['https://a.example/b?c=%27', "https://a.example/';--"],
  url: ['https://a.example/b?c=%27'],
};
const names = ['a', 'b', 'Queue.2', '0', 'select', 'drop', 'x-_.:y', 'z'.repeat(100)];

function text(schema: Schema, name: string): fc.Arbitrary<unknown> {
  const { pattern = '', minLength = 0, maxLength = 40 } = schema;
  if (pattern === instant) {
    return fc.oneof(
      fc.constantFrom(
        ...dates.filter((date) => date.includes('T') && /Z|[+-]\d\d:\d\d$/.test(date)),
      ),
      fc
        .date({ min: new Date(0), max: new Date('2040-01-01'), noInvalidDate: true })
        .map((d) => d.toISOString()),
    );
  }
  const [, kind] = [...kept].find(([shape]) => shape.test(pattern)) ?? [];
  if (kind === 'cursor') return fc.oneof(pick(kind), fc.constantFrom(...cursors));
  if (kind) return pick(kind);
  if (pattern) return fc.constantFrom(...names);
  const known = often[name];
  const any = { weight: 1, arbitrary: someText(minLength, maxLength) };
  return known ? fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...known) }, any) : any.arbitrary;
}

function number(schema: Schema, whole: boolean): fc.Arbitrary<unknown> {
  const { minimum: min = 0, maximum: max = 2 ** 53 - 1 } = schema;
  const fits = numbers.filter(
    (candidate) =>
      Number(candidate) >= min && Number(candidate) <= max && (!whole || /^-?\d+$/.test(candidate)),
  );
  return fc.oneof(
    fc.constantFrom(min, max, ...fits.map(written)),
    fc.integer({ min, max: Math.min(max, min + 10) }),
    whole ? fc.integer({ min, max }) : fc.double({ min, max, noNaN: true }),
  );
}

const absent = Symbol('absent');

function object(schema: Schema): fc.Arbitrary<unknown> {
  const { properties = {}, required = [], additionalProperties } = schema;
  if (typeof additionalProperties === 'object' && Object.keys(properties).length === 0) {
    return fc.dictionary(
      fc.constantFrom('traceparent', 'x', 'priority', 'concurrency_key', "it's"),
      valuesOf(additionalProperties),
      { maxKeys: 3 },
    );
  }
  const fields = Object.entries(properties);
  const model = fields.map(([name, part]) => {
    // The test would wait as long as the call.
    const value = name === 'wait_seconds' ? fc.constant(0) : valuesOf(part, name);
    const none = { weight: fields.length > 12 ? 8 : 3, arbitrary: fc.constant(absent) };
    return [
      name,
      required.includes(name) ? value : fc.oneof(none, { weight: 1, arbitrary: value }),
    ] as const;
  });
  const timings = ['cron', 'every_seconds', 'run_at'].filter(
    (name) => 'cron' in properties && name in properties,
  );
  return fc
    .tuple(fc.record(Object.fromEntries(model)), timing(properties, timings))
    .map(([made, timed]) => {
      const all = Object.entries(made).filter(([name]) => !timings.includes(name));
      return Object.fromEntries([...all, ...timed].filter(([, value]) => value !== absent));
    });
}

/** Chooses one of the fields that say when a schedule fires, because a schedule with several is always refused. */
function timing(properties: Record<string, Schema>, names: string[]) {
  if (names.length === 0) return fc.constant<[string, unknown][]>([]);
  return fc
    .constantFrom(...names)
    .chain((name) =>
      valuesOf(properties[name] as Schema, name).map((value): [string, unknown][] => [
        [name, value],
      ]),
    );
}

function ofType(schema: Schema, type: string, name: string): fc.Arbitrary<unknown> {
  switch (type) {
    case 'string':
      return text(schema, name);
    case 'integer':
      return number(schema, true);
    case 'number':
      return number(schema, false);
    case 'boolean':
      return fc.boolean();
    case 'array': {
      const { items = {}, minItems = 0, maxItems = 4 } = schema;
      return fc.array(valuesOf(items, name.replace(/s$/, '')), {
        minLength: minItems,
        maxLength: Math.min(maxItems, minItems + 3),
      });
    }
    case 'object':
      return object(schema);
    default:
      return fc.constant(null);
  }
}

/** Generates values that a schema accepts; most of them are at a limit. */
export function valuesOf(schema: Schema, name = ''): fc.Arbitrary<unknown> {
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((variant) => valuesOf(variant, name)));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.type === undefined) return anyJson;
  const [first = 'null', ...others] = [schema.type].flat();
  const main = ofType(schema, first, name);
  if (others.length === 0) return main;
  return fc.oneof({ weight: 6, arbitrary: main }, { weight: 1, arbitrary: fc.constant(null) });
}
