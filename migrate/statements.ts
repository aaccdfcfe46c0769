/** One statement of a file, without the comments before it; `line` counts from 1. */
export type Statement = { text: string; line: number; words: string[] };

const token =
  /--[^\n]*|\/\*|[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*|\s+|./gs;

function commentEnd(sql: string, start: number): number {
  const delimiter = /\/\*|\*\//g;
  delimiter.lastIndex = start;
  let depth = 0;
  for (let match = delimiter.exec(sql); match; match = delimiter.exec(sql)) {
    depth += match[0] === '/*' ? 1 : -1;
    if (depth === 0) return delimiter.lastIndex;
  }
  return sql.length;
}

function tokenEnd(sql: string, text: string, start: number): number {
  if (text === '/*') return commentEnd(sql, start);
  const after = start + text.length;
  if (!/^\$.*\$$/.test(text)) return after;
  const close = sql.indexOf(text, after);
  return close < 0 ? sql.length : close + text.length;
}

/** Splits a file at its semicolons as psql does: not in strings, bodies, comments or parentheses. */
export function statements(sql: string): Statement[] {
  const result: Statement[] = [];
  let start = -1;
  let words: string[] = [];
  let parentheses = 0;
  let blocks = 0;
  const close = (statementEnd: number) => {
    if (start >= 0) {
      const line = sql.slice(0, start).split('\n').length;
      result.push({ text: sql.slice(start, statementEnd).trimEnd(), line, words });
    }
    start = -1;
    words = [];
    parentheses = 0;
    blocks = 0;
  };
  token.lastIndex = 0;
  for (let match = token.exec(sql); match; match = token.exec(sql)) {
    const [text] = match;
    token.lastIndex = tokenEnd(sql, text, match.index);
    if (text === ';' && parentheses <= 0 && blocks === 0) {
      close(match.index + 1);
      continue;
    }
    if (/^(\s|--|\/\*)/.test(text)) continue;
    if (start < 0) start = match.index;
    if (text === '(') parentheses++;
    if (text === ')') parentheses--;
    if (!/^[A-Za-z_]\w*$/.test(text)) continue;
    const word = text.toLowerCase();
    // A body in standard SQL, begin atomic … end, contains semicolons without quotes.
    const inRoutine = words[0] === 'create' && /function|procedure/.test(words.join(' '));
    if (inRoutine && (word === 'begin' || (blocks > 0 && word === 'case'))) blocks++;
    if (blocks > 0 && word === 'end') blocks--;
    if (words.length < 4) words.push(word);
  }
  close(sql.length);
  return result;
}
