import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { referencePages } from '../../scripts/docs/reference.ts';
import { checkout } from '../../scripts/stack/paths.ts';

test('the reference is as `npm run reference` writes it', async () => {
  const pages = await referencePages();
  expect(Object.keys(pages)).toHaveLength(4);
  for (const [path, page] of Object.entries(pages))
    expect(readFileSync(join(checkout, path), 'utf8') === page, `${path}: npm run reference`).toBe(
      true,
    );
});
