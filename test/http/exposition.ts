export type Sample = { name: string; labels: Record<string, string>; value: number };

export type Family = {
  name: string;
  type: string;
  help: string;
  samples: Sample[];
};

const suffixes: Record<string, string[]> = {
  gauge: [''],
  counter: [''],
  histogram: ['_bucket', '_count', '_sum'],
};

const sampled = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;
const label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/y;
const escaped: Record<string, string> = { '\\"': '"', '\\\\': '\\', '\\n': '\n' };

function refuse(what: string, line: string): never {
  throw new Error(`${what}: ${line}`);
}

function labelsOf(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  label.lastIndex = 0;
  while (label.lastIndex < text.length) {
    const match = label.exec(text) ?? refuse('labels', text);
    const [, name = '', value = ''] = match;
    if (name in labels) refuse('a label twice', text);
    labels[name] = value.replace(/\\["\\n]/g, (sequence) => escaped[sequence] as string);
  }
  return labels;
}

const key = (labels: object) => JSON.stringify(Object.entries(labels).sort());

function checkHistogram(family: Family): void {
  const groups = new Map<string, Sample[]>();
  for (const sample of family.samples) {
    const { le, ...rest } = sample.labels;
    groups.set(key(rest), [...(groups.get(key(rest)) ?? []), sample]);
  }
  for (const [group, samples] of groups) {
    const named = (suffix: string) => samples.filter(({ name }) => name === family.name + suffix);
    const buckets = named('_bucket');
    const bounds = buckets.map(({ labels: { le = '' } }) => {
      if (!/^(\d+(\.\d+)?|\+Inf)$/.test(le)) refuse('a bound', le);
      return le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le);
    });
    if (bounds.some((bound, n) => bound <= (bounds[n - 1] ?? -1))) refuse('bounds', group);
    if (bounds.at(-1) !== Infinity) refuse('bounds', group);
    const counts = buckets.map(({ value }) => value);
    if (counts.some((value, n) => value < (counts[n - 1] ?? 0))) refuse('counts fall', group);
    const [count, more] = named('_count');
    const [sum] = named('_sum');
    if (!count || !sum || more) refuse('count and sum', group);
    if (count.value !== buckets.at(-1)?.value) refuse('count is not that of +Inf', group);
    if (count.value === 0 && sum.value !== 0) refuse('a sum of nothing', group);
  }
}

function check(family: Family): Family {
  const { name, type, samples } = family;
  if (!(type in suffixes)) refuse('an unknown type', name);
  if (!family.help) refuse('no help', name);
  if (name.endsWith('_total') !== (type === 'counter')) refuse('only counters end in _total', name);
  if (/_(count|sum|bucket|info|created)$/.test(name)) refuse('a reserved suffix', name);
  const seen = samples.map((sample) => sample.name + key(sample.labels));
  if (new Set(seen).size !== seen.length) refuse('a sample twice', name);
  if (type !== 'gauge' && samples.some(({ value }) => value < 0)) refuse('below zero', name);
  if (type === 'histogram') checkHistogram(family);
  return family;
}

/** Parses the text format of Prometheus (0.0.4). Throws if the text breaks a rule of it, or of the names of metrics. */
export function parse(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) refuse('the end', text.slice(-20));
  const families = new Map<string, Family>();
  let current: Family | undefined;
  for (const line of text.slice(0, -1).split('\n')) {
    const [, word, name = '', rest = ''] =
      /^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line) ?? [];
    if (word) {
      if (current?.name !== name) {
        if (families.has(name)) refuse('a family in two parts', line);
        current = { name, type: '', help: '', samples: [] };
        families.set(name, current);
      }
      if (current.samples.length > 0) refuse('after its samples', line);
      const field = word.toLowerCase() as 'help' | 'type';
      if (current[field]) refuse('twice', line);
      current[field] = rest;
      continue;
    }
    const [, of = '', labels = '', value] = sampled.exec(line) ?? refuse('no sample', line);
    const family = current ?? refuse('of no family', line);
    const ends = suffixes[family.type] ?? [];
    if (!ends.some((suffix) => of === family.name + suffix)) refuse('of another family', line);
    family.samples.push({ name: of, labels: labelsOf(labels), value: Number(value) });
  }
  for (const family of families.values()) check(family);
  return families;
}
