import fc from 'fast-check';
import { instant, type Schema } from './document.ts';
import { dates, injections, numbers } from './nasty.ts';

/** Stands for what an earlier answer gave, as that is not known when a request is generated. */
export type Pick = { pick: string; n: number };

/** JSON that stays as it is written: a number may be more than a double can hold, a key be there twice. */
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

/** Well-formed, of all planes, without NUL; most short, some as long as may be. */
function someText(min: number, max: number): fc.Arbitrary<string> {
  const fitted = (text: string) => {
    const cut = text.replaceAll('\0', '0').slice(0, max).toWellFormed().replaceAll('\ufffd', '?');
    return cut.padEnd(min, 'x');
  };
  const unit = fc.constantFrom('grapheme' as const, 'binary' as const, 'grapheme-ascii' as const);
  return fc.oneof(
    {
      weight: 3,
      arbitrary: unit.chain((one) => fc.string({ unit: one, maxLength: 12 })).map(fitted),
    },
    { weight: 3, arbitrary: fc.constantFrom(...injections).map(fitted) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('x', '\u{1f600}', "'", '\\').map((c) => fitted(c.repeat(max))),
    },
  );
}

/** Any JSON that PostgreSQL keeps, nested up to 500 levels, its numbers as they are written. */
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

// Of these patterns whatever fits would mean nothing to the database.
const kept = new Map<RegExp, string>([
  [/^\^\[1-9\]/, 'id'],
  [/0-9a-fA-F/, 'lease'],
  [/0-9a-f\]\{2,/, 'cursor'],
  [/tock_/, 'prefix'],
]);
const names = ['a', 'b', 'Queue.2', '0', 'select', 'drop', 'x-_.:y', 'z'.repeat(100)];

function text(schema: Schema): fc.Arbitrary<unknown> {
  const { pattern = '', minLength = 0, maxLength = 40, example } = schema;
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
  if (pattern.includes('\\d{1,9}')) {
    return fc
      .oneof(fc.integer({ min: 1, max: Number(example) }), fc.constantFrom(0, 999_999_999, '007'))
      .map(String);
  }
  for (const [shape, kind] of kept) if (shape.test(pattern)) return pick(kind);
  return pattern ? fc.constantFrom(...names) : someText(minLength, maxLength);
}

function number(schema: Schema, whole: boolean): fc.Arbitrary<unknown> {
  const { minimum: min = 0, maximum: max = 2 ** 53 - 1 } = schema;
  const fits = numbers.filter(
    (one) => Number(one) >= min && Number(one) <= max && (!whole || /^-?\d+$/.test(one)),
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
      fc.constantFrom('traceparent', 'x', 'priority', 'gate', "it's"),
      valuesOf(additionalProperties),
      { maxKeys: 3 },
    );
  }
  const model = Object.entries(properties).map(([name, part]) => {
    // A call that waits would have the test wait.
    const value = name === 'wait_seconds' ? fc.constant(0) : valuesOf(part);
    const maybe = fc.oneof(
      { weight: 5, arbitrary: fc.constant(absent) },
      { weight: 2, arbitrary: value },
    );
    return [name, required.includes(name) ? value : maybe] as const;
  });
  return fc
    .record(Object.fromEntries(model))
    .map((made) =>
      Object.fromEntries(Object.entries(made).filter(([, value]) => value !== absent)),
    );
}

function ofType(schema: Schema, type: string): fc.Arbitrary<unknown> {
  switch (type) {
    case 'string':
      return text(schema);
    case 'integer':
      return number(schema, true);
    case 'number':
      return number(schema, false);
    case 'boolean':
      return fc.boolean();
    case 'array': {
      const { items = {}, minItems = 0, maxItems = 4 } = schema;
      return fc.array(valuesOf(items), {
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

/** Values that a schema takes, most of them at an end of what it takes. */
export function valuesOf(schema: Schema): fc.Arbitrary<unknown> {
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(valuesOf));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  if (schema.type === undefined) return anyJson;
  const [first = 'null', ...others] = [schema.type].flat();
  const main = ofType(schema, first);
  if (others.length === 0) return main;
  return fc.oneof({ weight: 6, arbitrary: main }, { weight: 1, arbitrary: fc.constant(null) });
}
