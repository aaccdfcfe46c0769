/** Quoted text keeps its place as quotes, a comment as spaces: what stands in them is no part of a statement's form. */
function bare(text: string): string {
  const quoted =
    /--[^\n]*|\/\*|(?<![\w$])e'(?:[^'\\]|''|\\[\s\S])*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|(?<![\w$])\$([a-z_]\w*)?\$[\s\S]*?\$\1\$/gi;
  let form = '';
  for (let at = 0; ; ) {
    quoted.lastIndex = at;
    const found = quoted.exec(text);
    if (!found) return form + text.slice(at);
    const long = found[0] === '/*' ? commentLength(text.slice(found.index)) : found[0].length;
    const kept = /^(--|\/\*)/.test(found[0]) ? ' ' : "'";
    form += text.slice(at, found.index) + kept.repeat(long);
    at = found.index + long;
  }
}

/** They stand in one another. */
function commentLength(text: string): number {
  let depth = 0;
  for (const { 0: mark, index } of text.matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1;
    if (depth === 0) return index + 2;
  }
  return text.length;
}

function outsideParentheses(form: string): string {
  const less = form.replace(/\([^()]*\)/g, ' ');
  return less === form ? form : outsideParentheses(less);
}

export type TransactionalStatement = {
  /** Without a semicolon at its end. */
  text: string;
  /** It is done only as far as somebody reads from it, unlike one that writes by itself. */
  read: boolean;
};

/** One statement, with as many parameters as values; throws a RangeError for anything else. */
export function transactionalStatement(statement: string, values: number): TransactionalStatement {
  const form = bare(statement).replace(/[;\s]+$/, '');
  if (!/\S/.test(form) || form.includes(';')) {
    throw new RangeError('completeWith: it does one statement');
  }
  const most = Math.max(0, ...[...form.matchAll(/(?<![\w$])\$(\d+)/g)].map(([, n]) => Number(n)));
  if (most !== values) {
    throw new RangeError(`completeWith: parameters up to $${most}, and ${values} values`);
  }
  // A `with` may stand before it, whose name may be that of a verb.
  const verb = /\b(select|values|table|(insert|merge)\s+into|delete\s+from|update\s+(?!as\b))/i;
  const [found = ''] = verb.exec(outsideParentheses(form)) ?? [];
  const text = statement.slice(0, form.length);
  return { text, read: !/^(insert|merge|delete|update)/i.test(found) };
}
