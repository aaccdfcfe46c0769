import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { referencePages } from '../../scripts/docs/reference.ts';
import { checkout } from '../../scripts/stack/paths.ts';

// The pages have the Worker's own limits, not those of test/patient_connections.ts.
vi.unmock('../../functions/timeouts.ts');

test('the reference is as `npm run reference` writes it', async () => {
  const pages = await referencePages();
  expect(Object.keys(pages)).toHaveLength(4);
  for (const [path, page] of Object.entries(pages)) {
    const lines = readFileSync(join(checkout, path), 'utf8').split('\n');
    const written = page.split('\n');
    const differing = written.findIndex((line, n) => line !== lines[n]);
    expect(lines[differing], `${path}:${differing + 1}: npm run reference`).toBe(
      written[differing],
    );
    expect(lines).toHaveLength(written.length);
  }
});
