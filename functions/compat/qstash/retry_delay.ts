const MAX_LENGTH = 200;
const token = /\s*(\d+(?:\.\d+)?|[a-z]+|[-+*/%(),])/y;

const functions: Record<string, { parameters: number | null; of: (...x: number[]) => number }> = {
  pow: { parameters: 2, of: Math.pow },
  sqrt: { parameters: 1, of: Math.sqrt },
  abs: { parameters: 1, of: Math.abs },
  exp: { parameters: 1, of: Math.exp },
  floor: { parameters: 1, of: Math.floor },
  ceil: { parameters: 1, of: Math.ceil },
  round: { parameters: 1, of: Math.round },
  min: { parameters: null, of: Math.min },
  max: { parameters: null, of: Math.max },
};

function tokensOf(expression: string): string[] | null {
  const tokens: string[] = [];
  const text = expression.trimEnd();
  token.lastIndex = 0;
  for (let at = 0; at < text.length; at = token.lastIndex) {
    token.lastIndex = at;
    const [, next] = token.exec(text) ?? [];
    if (next === undefined) return null;
    tokens.push(next);
  }
  return tokens;
}

/** A parser that computes while it reads; a syntax error makes the value NaN. */
function evaluate(tokens: string[], retried: number): number {
  let at = 0;
  const take = (...wanted: string[]) =>
    wanted.includes(tokens[at] ?? '') ? (tokens[at++] as string) : null;

  function list(): number[] {
    const values = [sum()];
    while (take(',')) values.push(sum());
    return take(')') ? values : [Number.NaN];
  }
  function atom(): number {
    if (take('(')) {
      const values = list();
      return values.length === 1 ? (values[0] as number) : Number.NaN;
    }
    const next = tokens[at++] ?? '';
    if (next === 'retried') return retried;
    if (!Object.hasOwn(functions, next)) return next === '' ? Number.NaN : Number(next);
    const { parameters, of } = functions[next] as (typeof functions)[string];
    const values = take('(') ? list() : [];
    const fits = values.length === parameters || (parameters === null && values.length > 0);
    return fits ? of(...values) : Number.NaN;
  }
  const signed = (): number => (take('-') ? -signed() : atom());
  function product(): number {
    let value = signed();
    for (let sign = take('*', '/', '%'); sign; sign = take('*', '/', '%')) {
      const other = signed();
      if (sign === '*') value *= other;
      else value = sign === '/' ? value / other : value % other;
    }
    return value;
  }
  function sum(): number {
    let value = product();
    for (let sign = take('+', '-'); sign; sign = take('+', '-'))
      value += sign === '+' ? product() : -product();
    return value;
  }
  const value = sum();
  return at === tokens.length ? value : Number.NaN;
}

/** The milliseconds of an expression such as `pow(2, retried) * 1000`; NaN if it is invalid. */
export function retryDelay(expression: string, retried: number): number {
  const tokens = expression.length <= MAX_LENGTH ? tokensOf(expression) : null;
  return tokens ? evaluate(tokens, retried) : Number.NaN;
}
