// `npm version` runs this: the other packages get the version of the first, in the same commit.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
for (const file of ['client/package.json', 'create/package.json']) {
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replaceAll(/"(version|tock)": "[^"]*"/g, `"$1": "${version}"`));
  execFileSync('git', ['add', file]);
}
