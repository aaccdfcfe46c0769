// node proof.mjs old.schema new.schema sql | node proof.mjs old.json new.json json
// Applies the map to the old document and compares it with the new one, line by line as multisets: lines move, as
// they are sorted by name, and white space moves, as lines are wrapped anew. The catalog writes types, keys and
// sequences without their schema, and parameters that the map renames in one folder only are not known by file here.
// Comments are left out: they are prose.
import { readFileSync } from 'node:fs';
import { rename } from './rename.mjs';

const [, , oldFile, newFile, kind] = process.argv;
const types = 'counting fires firing going look place places wish'.split(' ').join('|');
const folderOnly = { p_place: 'p_member', p_places: 'p_members', p_line: 'p_list' };

function renamed(text) {
  if (kind === 'json')
    return rename(
      text.replaceAll('"after": {', '"depends_on": {'),
      'ts',
      'functions/routes/openapi.ts',
    );
  const qualified = text
    .replace(new RegExp(`(\\b(?:p_|OUT )\\w+ |returns (?:SETOF )?)(${types})\\b`, 'g'), '$1tock.$2')
    .replace(/\b(\w+)_pkey\b/g, (_, table) => `${rename(`tock.${table}`, 'sql').slice(5)}_pkey`)
    .replace(/\bfired_number_seq/g, 'schedule_history_number_seq');
  return rename(qualified, 'sql')
    .replace(/(?<!spawned_field.*)\b(p_place|p_places|p_line)\b/g, (name) => folderOnly[name])
    .replace(
      'remove_vanished_from(p_pool text, p_turn',
      'remove_vanished_from(p_pool text, p_number',
    );
}
function lines(text) {
  const statements =
    kind === 'json' ? text.split('\n') : text.replace(/'\s*\n\s*'/g, '').split(/\n+/);
  return statements
    .map((one) => one.replaceAll('tock.', '').replace(/[\s,]+/g, ''))
    .filter((one) => one && !one.startsWith('--'));
}
const count = (all) => all.reduce((m, one) => m.set(one, (m.get(one) ?? 0) + 1), new Map());
const was = count(lines(renamed(readFileSync(oldFile, 'utf8'))));
const is = count(lines(readFileSync(newFile, 'utf8')));
let differences = 0;
for (const one of new Set([...was.keys(), ...is.keys()])) {
  const more = (is.get(one) ?? 0) - (was.get(one) ?? 0);
  if (more === 0) continue;
  differences += Math.abs(more);
  console.log(more > 0 ? '+' : '-', one);
}
console.log(`${[...was.values()].reduce((a, b) => a + b)} lines, ${differences} differences`);
