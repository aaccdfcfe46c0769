export type Source = { path: string; text: string };
/**
 * `in` is the function, table or folder to search first. In `find`, `…` stands for any tokens, as few as possible;
 * in `replace` it stands for the same tokens.
 */
export type Pattern = { in: string; find: string; replace: string };
/** The part of a file that a mutant replaces, and its new text. */
export type Edit = { path: string; from: number; to: number; text: string };

type Part = Source & { at: number };
type Token = { text: string; from: number; to: number; isName: boolean };
type Match = { end: number; names: Map<string, string>; gap: [from: number, to: number] };

// A placeholder of format() or of a template is part of its name: leases_%1$s, leases_{segment}.
const word = '(?:\\w|%(?:\\d+\\$)?[sIL]\\b|\\{\\w+\\})+';
const keywords = new Set(
  `all and any array as asc async await begin between by cascade case check coalesce collate conflict const
  constraint continue create cross default delete desc distinct do else elsif end except exception execute exists
  exit false filter finally first for foreign from function grant greatest group if in index insert into is join key
  language lateral least left let like limit locked loop new no not nothing null nulls of offset on only or order
  others over partition perform primary raise range references return returning returns revoke row rows select set
  share skip strict table then throw tock true try undefined union unique update using values void volatile when
  where while with`.split(/\s+/),
);
const cache = new Map<string, { tokens: Token[]; words: Set<string> }>();

/**
 * The tokens of a source without space and comments: words, and other characters one by one. Doubled quotes are
 * one token.
 */
function read({ path, text }: Source) {
  const known = cache.get(text);
  if (known) return known;
  const tokens: Token[] = [];
  const comment = path.endsWith('.sql') ? '--[^\\n]*' : '(?<!:)//[^\\n]*';
  const all = new RegExp(`(?:${comment}|/\\*[^]*?\\*/|\\s)+|(${word}|'+|[^])`, 'g');
  for (const { 1: tokenText, index: from } of text.matchAll(all)) {
    if (tokenText === undefined) continue;
    const ours = !keywords.has(tokenText) && !tokenText.startsWith('pg_');
    const isName = /^[a-z_%{]/i.test(tokenText) && ours && tokens.at(-2)?.text !== 'pg_catalog';
    const token = tokenText.startsWith("'") ? "'" : tokenText;
    tokens.push({ text: token, from, to: from + tokenText.length, isName });
  }
  const once = { tokens, words: new Set(tokens.map((token) => token.text)) };
  cache.set(text, once);
  return once;
}

/** Matches the pattern with the code from `at` on. A name of the pattern always matches the same name of the code. */
function match(
  code: Token[],
  at: number,
  pattern: Token[],
  free: Set<string>,
  known?: Map<string, string>,
): Match | null {
  const names = new Map(known);
  let here = at;
  for (const [n, wanted] of pattern.entries()) {
    if (wanted.text === '…') {
      for (let end = here; end < code.length; end++) {
        const rest = match(code, end, pattern.slice(n + 1), free, names);
        if (rest) return { ...rest, gap: [here, end] };
      }
      return null;
    }
    const actual = code[here++];
    const bound = names.get(wanted.text);
    if (bound === undefined && free.has(wanted.text)) {
      if (!actual?.isName || [...names.values()].includes(actual.text)) return null;
    } else if (actual?.text !== (bound ?? wanted.text)) return null;
    if (wanted.isName) names.set(wanted.text, actual.text);
  }
  return { end: here, names, gap: [0, 0] };
}

/** The parts of the sources that define a function or table, or its template. */
function definitions(sources: Source[], name: string): Part[] {
  const start = `^create\\b[^;(]*\\b${name.replace('.', '\\.')}(?:_\\{(?:suffix|segment)\\})?(?!\\w)`;
  const definition = new RegExp(`${start}[^]*?(?=^create\\b|^comment\\b|(?![^]))`, 'gm');
  return sources.flatMap(({ path, text }) =>
    [...text.matchAll(definition)].map(({ 0: body, index: at }) => ({ path, text: body, at })),
  );
}

/** Each place where the pattern matches. */
function search(parts: Part[], { find, replace }: Pattern, free: Set<string>): Edit[] {
  const edits: Edit[] = [];
  for (const part of parts) {
    const code = read(part).tokens;
    const pattern = read({ path: part.path, text: find }).tokens;
    const [first] = pattern;
    for (let at = 0; at < code.length; at++) {
      if (!first || (code[at]?.text !== first.text && !free.has(first.text))) continue;
      const matched = match(code, at, pattern, free);
      if (!matched) continue;
      const textOf = (from: number, to: number) =>
        part.text.slice(code[from]?.from, code[to - 1]?.to);
      const text = replace
        .replace(new RegExp(word, 'g'), (name) => matched.names.get(name) ?? name)
        .replace('…', () => textOf(...matched.gap));
      const from = part.at + (code[at]?.from ?? 0);
      edits.push({ path: part.path, from, to: from + textOf(at, matched.end).length, text });
      at = matched.end - 1;
    }
  }
  return edits;
}

/**
 * The places of a mutant: all in the function that it names, or the only one anywhere. If none matches, names that
 * no longer occur may match others; then all names may. From then on there must be exactly one place.
 */
export function placesOf(sources: Source[], pattern: Pattern): Edit[] {
  const everywhere = sources.map((source) => ({ ...source, at: 0 }));
  const named = pattern.in.includes('.') ? definitions(sources, pattern.in) : everywhere;
  const { tokens } = read({ path: sources[0]?.path ?? '', text: pattern.find });
  const names = tokens.flatMap(({ isName, text }) => (isName ? [text] : []));
  let count = 0;
  for (const freedom of ['none', 'gone', 'all'])
    for (const parts of [named, everywhere]) {
      const isThere = (name: string) => parts.some((part) => read(part).words.has(name));
      const free = freedom === 'none' ? [] : names.filter((n) => freedom === 'all' || !isThere(n));
      const edits = search(parts, pattern, new Set(free));
      const isExact = freedom === 'none' && parts === named;
      if (edits.length === 1 || (isExact && edits.length > 0)) return edits;
      count ||= edits.length;
    }
  throw new Error(`${pattern.in} has ${count || 'no'} places for: ${pattern.find}`);
}

/** The text of the file with these edits made. */
export function edited({ path, text }: Source, edits: Edit[]): string {
  const own = edits.filter((edit) => edit.path === path).toSorted((a, b) => b.from - a.from);
  return own.reduce((all, edit) => all.slice(0, edit.from) + edit.text + all.slice(edit.to), text);
}
