import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GenericContainer, getContainerRuntimeClient, ImageName } from 'testcontainers';
import { checkout } from './place.ts';
import type { Say } from './say.ts';

/** The image of this repository's Dockerfile, built when this engine hasn't got it yet. */
export async function image(say: Say): Promise<string> {
  const text = readFileSync(join(checkout, 'Dockerfile'));
  const name = `tock-postgres:${createHash('sha256').update(text).digest('hex').slice(0, 12)}`;
  const client = await getContainerRuntimeClient();
  if (await client.image.exists(ImageName.fromString(name))) return name;
  await say.step('Building the Docker image with PostgreSQL, pg_cron and PgBouncer', () =>
    GenericContainer.fromDockerfile(checkout).build(name, { deleteOnExit: false }),
  );
  return name;
}
