// node rename.mjs apply ROOT | node rename.mjs filter KIND < text   (KIND: sql, ts, md, json)
import { execSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const here = import.meta.dirname;
const sections = {};
let section;
for (const raw of readFileSync(join(here, 'map.txt'), 'utf8').split('\n')) {
  const line = raw.replace(/^#.*/, '').replace(/\n$/, '');
  if (!line) continue;
  const head = line.match(/^\[(.+)\]$/);
  if (head) {
    section = sections[head[1]] ??= [];
    continue;
  }
  const sep = line.includes(' => ') ? ' => ' : ' ';
  const at = line.indexOf(sep);
  section.push([line.slice(0, at), line.slice(at + sep.length)]);
}
const camel = (s) => s.replace(/_([a-z0-9])/g, (_, c) => c.toUpperCase());
const cap = (s) => s[0].toUpperCase() + s.slice(1);
const token = new Map();
for (const [from, to] of sections.token) {
  token.set(from, to);
  if (from.includes('_')) {
    token.set(camel(from), camel(to));
    token.set(cap(camel(from)), cap(camel(to)));
  }
}
const parts = new Map(sections.part);
const esc = (s) => s.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

function byPart(word) {
  // snake, camel and capital parts
  const pieces = word.split(/(_+|(?<=[a-z0-9])(?=[A-Z]))/);
  let changed = false;
  const camelish = /[a-z0-9][A-Z]/.test(word) || /^[A-Z][a-z]/.test(word);
  const out = pieces.map((p) => {
    const lower = p.toLowerCase();
    const to = parts.get(lower);
    if (to === undefined) return p;
    changed = true;
    if (p === p.toUpperCase() && p.length > 1) return to.toUpperCase();
    const isCap = p[0] === p[0].toUpperCase();
    if (isCap) return cap(camel(to));
    return camelish ? camel(to) : to;
  });
  return changed ? out.join('') : word;
}

const one = (word) => {
  const trail = word.match(/^(.*?)(_+|_current|_N|_\d+)?$/s);
  if (token.has(word)) return token.get(word);
  if (trail[2] && token.has(trail[1])) return token.get(trail[1]) + trail[2];
  return byPart(word);
};

const nameMaps = {
  name: new Map(sections.name),
  function: new Map(sections.function),
  table: new Map(sections.table),
};
const strings = new Map(sections.string);
const suffix = `(_(?=[{%$'"])|_current|_N|_\\d+|_pkey|)`;
const bareFiles = ['test/sql/roles.ts'];
export function rename(text, kind, path = '') {
  if (bareFiles.includes(path))
    text = text.replace(
      /(?<![.\w])[a-z_]+(?![\w(:])/g,
      (w) => nameMaps.function.get(w) ?? nameMaps.name.get(w) ?? w,
    );
  for (const [from, to] of sections.phrase ?? []) text = text.replaceAll(from, to);
  for (const [pattern, to] of sections.regex ?? [])
    text = text.replace(new RegExp(pattern, 'gm'), to);
  if (kind === 'md')
    for (const [pattern, to] of sections.mdregex ?? [])
      text = text.replace(new RegExp(pattern, 'gm'), to);
  if (kind === 'ts')
    for (const [pattern, to] of sections.tsregex ?? [])
      text = text.replace(new RegExp(pattern, 'gm'), to);
  if (kind === 'sql' && !/options_in|next_fire|next_attempts|unique_keys\/policy/.test(path))
    for (const [pattern, to] of sections.sqlregex ?? [])
      text = text.replace(new RegExp(pattern, 'gm'), to);
  for (const name of Object.keys(sections)) {
    if (!name.startsWith('in ')) continue;
    const [, ...prefixes] = name.split(' ');
    if (!prefixes.some((p) => path.startsWith(p))) continue;
    for (const [from, to] of sections[name])
      text = text.replace(
        new RegExp(`(?<![\\w.-])${esc(from)}(?![\\w-])|(?<=\\w\\.)${esc(from)}(?![\\w])`, 'g'),
        to,
      );
  }
  for (const [from, to] of sections.path ?? [])
    if (from.endsWith('.ts')) text = text.replaceAll(`/${basename(from)}'`, `/${basename(to)}'`);
  // qualified names, and name() as prose has it
  text = text.replace(
    new RegExp(`(function )?\\btock\\.([a-z_]+?)${suffix}(?:(\\()|(?![\\w(]))`, 'g'),
    (all, on, n, s, paren) => {
      const to = nameMaps[paren || on ? 'function' : 'table'].get(n) ?? nameMaps.name.get(n);
      return to === undefined ? all : `${on ?? ''}tock.${to}${s}${paren ?? ''}`;
    },
  );
  text = text.replace(new RegExp(`(?<![\\w.$])([a-z_]+?)${suffix}\\(\\)`, 'g'), (all, n, s) => {
    if (kind === 'ts') return all;
    const to = nameMaps.function.get(n) ?? nameMaps.name.get(n);
    return to === undefined ? all : `${to}${s}()`;
  });
  text = text
    .split('\n')
    .map((line) => {
      if (
        /dut(y|ies)|\b[dr]\.name\b|named_key|tock:|^\s+\('(promote|audit|minutes)'|when '\w+' then tock\./.test(
          line,
        )
      )
        line = line
          .replace(/(['"])([a-z]+)\1/g, (all, q, n) =>
            strings.has(n) ? q + strings.get(n) + q : all,
          )
          .replace(/\btock:([a-z]+)\b/g, (all, n) =>
            strings.has(n) ? `tock:${strings.get(n)}` : all,
          );
      return line;
    })
    .join('\n');
  text = text.replace(/extract\(epoch|date_part\('epoch'/g, (m) =>
    m.replace('epoch', 'e\u0000poch'),
  );
  text = byLine(text, kind).replaceAll('e\u0000poch', 'epoch');
  return text.replace(/\b([Aa])n segment/g, '$1 segment').replace(/(epoch)\u0000/g, 'epoch');
}

const plainWords = new RegExp(
  `(?<=\\\\n|(?<![\\w./:{-]))(${[...parts.keys()].join('|')})(?![\\w(/=}-]|\\.\\w|'s?:)`,
  'gi',
);
const toProse = (t) =>
  t
    .split(/(\$\{[^}]*\})/)
    .map((p) => (p.startsWith('${') ? toCode(p) : prosePart(p)))
    .join('');
const prosePart = (t) =>
  t.replace(plainWords, (w) => {
    const to = parts.get(w.toLowerCase()).replaceAll('_', ' ');
    return w[0] === w[0].toLowerCase() ? to : cap(to);
  });
const looksSql = /\btock\.|\b(select|update|insert|delete|where|from tock|order by|set local)\b/;
const stringsIn = /'(?:[^'\\\n]|\\.|'')*'|"(?:[^"\\\n]|\\.)*"|`[^`\n]*`/g;
const isProse = (t) =>
  / /.test(t.trim()) &&
  !/^\W*(select|insert|update|delete|with)\b/i.test(t) &&
  !/\btock\.\w+[( ]|=> |->|\$\d|[|=]{2}|::|\b[a-z]\.[a-z_]+,/.test(t);
const code = new Map(sections.code);
const toCode = (t) =>
  t.replace(/(?<![A-Za-z0-9_-])[a-z_]+(?![A-Za-z0-9_-])/g, (w) => code.get(w) ?? w);
function proseOfLine(line, kind, state) {
  if (kind === 'md') {
    if (/^\s*```/.test(line)) {
      state.fence = !state.fence;
      return line;
    }
    if (state.fence) return toCode(line);
    return line
      .split(/((?:(?:job|duty|duties) )?`[^`]*`)/)
      .map((t) => {
        if (!t.endsWith('`')) return toProse(t);
        const found = t.match(/^((?:job|duty|duties) )?`([a-z_]+)`$/);
        if (!found) return toCode(t);
        const to = found[1]
          ? strings.get(found[2])
          : (nameMaps.table.get(found[2]) ?? nameMaps.name.get(found[2]));
        return to
          ? `${found[1] ? toProse(found[1]) : ''}\`${to}\``
          : found[1]
            ? toProse(found[1]) + '`' + found[2] + '`'
            : t;
      })
      .join('');
  }
  if (kind === 'sql') {
    const at = line.indexOf('--');
    const comment =
      at >= 0 && (line.slice(0, at).match(/'/g) ?? []).length % 2 === 0 ? line.slice(at) : '';
    const sql = comment ? line.slice(0, at) : line;
    return (
      sql
        .split(/('(?:[^']|'')*')/)
        .map((t) => (t.startsWith("'") && isProse(t) ? toProse(t) : toCode(t)))
        .join('') + toProse(comment)
    );
  }
  if (/^\s*(\/\/|\*|\/\*)/.test(line)) return toProse(line);
  const note = line.match(/^(.*?\S)(\s\/\/ .*)$/);
  const [codePart, comment] = note && !/https?:$/.test(note[1]) ? [note[1], note[2]] : [line, ''];
  return (
    codePart
      .split(/('(?:[^'\\\n]|\\.|'')*'|"(?:[^"\\\n]|\\.)*"|`[^`\n]*`)/)
      .map((t) => (/^['"`]/.test(t) && isProse(t) && !looksSql.test(t) ? toProse(t) : toCode(t)))
      .join('') + toProse(comment)
  );
}
function byLine(text, kind) {
  const state = { fence: false };
  text = text.replace(/(?<![\w-])--([a-z][a-z-]*[a-z])\b/g, (all, flag) => {
    const word = flag.replaceAll('-', '_');
    const to = code.get(word) ?? one(word);
    return to === word ? all : '--' + to.replaceAll('_', '-');
  });
  return text
    .split('\n')
    .map((line) => proseOfLine(line, kind, state).replace(/[A-Za-z_][A-Za-z0-9_]*/g, one))
    .join('\n');
}

const [, , command, arg] = process.argv;
if (command === 'filter') {
  process.stdout.write(rename(readFileSync(0, 'utf8'), arg));
} else if (command === 'apply') {
  const files = execSync('git ls-files', { cwd: arg, encoding: 'utf8', maxBuffer: 1e8 })
    .trim()
    .split('\n')
    .filter(
      (f) =>
        !/^scripts\/node\/|package-lock|\.(png|svg|woff2?|ico)$|^LICEN|^sql\/schema\.sql$|^docs\/decisions\/keep/.test(
          f,
        ),
    );
  for (const file of files) {
    const kind = /\.(ts|tsx|mjs|js)$/.test(file) ? 'ts' : /\.sql$/.test(file) ? 'sql' : 'md';
    const before = readFileSync(join(arg, file), 'utf8');
    const after = rename(before, kind, file);
    if (after !== before) writeFileSync(join(arg, file), after);
    let path = file;
    for (const [from, to] of sections.path ?? [])
      if (path === from || path.startsWith(from + '/')) path = to + path.slice(from.length);
    if (path === file && !sections.path?.some(([f]) => f === file)) {
      path = file
        .split('/')
        .map((p) =>
          p.replace(/^[a-z_0-9]+/, (w) =>
            p.includes('.segment.') || p.includes('.current.')
              ? (nameMaps.name.get(w) ?? one(w))
              : parts.has(w) || token.has(w) || /_/.test(w)
                ? one(w)
                : w,
          ),
        )
        .join('/');
    }
    if (path !== file) {
      mkdirSync(dirname(join(arg, path)), { recursive: true });
      if (existsSync(join(arg, path))) console.error('exists', path);
      execSync(`git mv ${file} ${path}`, { cwd: arg });
      console.log(file, '->', path);
    }
  }
}
