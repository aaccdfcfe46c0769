import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkout } from '../../scripts/stack/place.ts';
import { bugs } from './bugs.ts';
import { planted } from './plant.ts';

// Whether each bug is caught takes minutes: test/planted/run.ts. This keeps the list true meanwhile.
test.each(bugs)('there is still a place for the bug "$name", and a test that names it', (bug) => {
  expect(planted(bug)).not.toBe('');
  const [file, name] = bug.caught;
  const text = readFileSync(join(checkout, 'test', file), 'utf8').replaceAll("\\'", "'");
  const words = name.replace(
    /^(eight workers at limit|a claim under a|a rest under an old).*/,
    '$1',
  );
  expect(text).toContain(words);
});
