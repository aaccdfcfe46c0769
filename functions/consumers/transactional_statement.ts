/** Masks quoted text by quotes, and comments by spaces, of the same length, so that only the syntax is left. */
function maskLiterals(text: string): string {
  const quoted =
    /--[^\n]*|\/\*|(?<![\w$])e'(?:[^'\\]|''|\\[\s\S])*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|(?<![\w$])\$([a-z_]\w*)?\$[\s\S]*?\$\1\$/gi;
  let form = '';
  for (let position = 0; ; ) {
    quoted.lastIndex = position;
    const match = quoted.exec(text);
    if (!match) return form + text.slice(position);
    const length = match[0] === '/*' ? commentLength(text.slice(match.index)) : match[0].length;
    const mask = /^(--|\/\*)/.test(match[0]) ? ' ' : "'";
    form += text.slice(position, match.index) + mask.repeat(length);
    position = match.index + length;
  }
}

/** The length of a comment; in PostgreSQL comments nest. */
function commentLength(text: string): number {
  let depth = 0;
  for (const { 0: mark, index } of text.matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1;
    if (depth === 0) return index + 2;
  }
  return text.length;
}

function outsideParentheses(form: string): string {
  const shorter = form.replace(/\([^()]*\)/g, ' ');
  return shorter === form ? form : outsideParentheses(shorter);
}

export type TransactionalStatement = {
  /** The statement without a trailing semicolon. */
  text: string;
  /** True if it only reads. PostgreSQL runs such a statement in `with` only as far as its rows are read. */
  read: boolean;
  /** True if it returns rows. */
  returns: boolean;
};

/** Throws a RangeError, which names `caller`, unless the text is exactly one statement with as many parameters as values. */
export function transactionalStatement(
  caller: string,
  statement: string,
  values: number,
): TransactionalStatement {
  const form = maskLiterals(statement).replace(/[;\s]+$/, '');
  if (!/\S/.test(form) || form.includes(';')) {
    throw new RangeError(`${caller}: pass exactly one statement`);
  }
  const highest = Math.max(
    0,
    ...[...form.matchAll(/(?<![\w$])\$(\d+)/g)].map(([, n]) => Number(n)),
  );
  if (highest !== values) {
    throw new RangeError(
      `${caller}: the statement uses parameters up to $${highest}, but ${values} values were passed`,
    );
  }
  // A `with` list may precede the verb, with names like those of verbs.
  const verb = /\b(select|values|table|(insert|merge)\s+into|delete\s+from|update\s+(?!as\b))/i;
  const outside = outsideParentheses(form);
  const [keyword = ''] = verb.exec(outside) ?? [];
  const text = statement.slice(0, form.length);
  const read = !/^(insert|merge|delete|update)/i.test(keyword);
  return { text, read, returns: read || /\breturning\b/i.test(outside) };
}
