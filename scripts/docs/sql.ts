import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkout } from '../stack/paths.ts';

const callers = ['tock_producer', 'tock_worker', 'tock_admin'];
const entry =
  /^function tock\.(\w+)\((.*)\)\n {2}returns (.*)\n(?: {2}-- (.*)\n)?(?: {2}-- for (.*)\n)?/gm;

/** Types in the words of PostgreSQL's documentation, as short as they can be. */
const short = (text: string) =>
  text
    .replaceAll(/timestamp with time zone/g, 'timestamptz')
    .replaceAll(/ DEFAULT NULL::\w+(?: \w+)*(\[\])?/g, ' default null')
    .replaceAll(/ DEFAULT ('[^']*')::[\w.]+(\[\])?/g, ' default $1')
    .replaceAll(/ DEFAULT /g, ' default ')
    .replaceAll('tock.', '');

/** A signature on one line if it fits, else a parameter a line. */
function signature(name: string, parameters: string, returns: string): string {
  const line = `${name}(${parameters}) returns ${returns}`;
  if (line.length <= 100) return line;
  const list = parameters.split(/, (?=\w+ )/).map((parameter) => `  ${parameter}`);
  return `${name}(\n${list.join(',\n')})\nreturns ${returns.replaceAll(/(?<=TABLE\().*(?=\)$)/g, (columns) => `\n  ${columns.split(', ').join(',\n  ')}`)}`;
}

/** The functions that roles of callers may execute, with their comments, from sql/schema.sql. */
export function sqlReference(): string {
  const schema = readFileSync(join(checkout, 'sql', 'schema.sql'), 'utf8');
  const verbs = [...schema.matchAll(entry)].flatMap(
    ([, name = '', parameters = '', returns = '', comment = '', roles = '']) => {
      const may = callers.filter((role) => roles.split(', ').includes(role));
      return may.length === 0 ? [] : [{ name, parameters, returns, comment, may }];
    },
  );
  const index = verbs.map(
    ({ name, comment }) =>
      `| [\`${name}\`](#${name}) | ${comment.split(/(?<=\.) /)[0]?.replaceAll('|', '\\|')} |`,
  );
  const details = verbs.map(
    ({ name, parameters, returns, comment, may }) => `### ${name}

\`\`\`text
${short(signature(name, parameters, returns))}
\`\`\`

${comment.replaceAll(/[{}<>|]/g, (sign) => (sign === '|' ? sign : sign === '<' ? '&lt;' : sign))}

For ${may.map((role) => `\`${role}\``).join(', ')}.`,
  );
  return `| function | what it does |\n|---|---|\n${index.join('\n')}\n\n${details.join('\n\n')}`;
}
