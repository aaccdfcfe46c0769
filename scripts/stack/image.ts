import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GenericContainer, getContainerRuntimeClient, ImageName } from 'testcontainers';
import { releases } from './debian.ts';
import { checkout } from './place.ts';
import { lastLines } from './run.ts';
import type { Say } from './say.ts';

/**
 * The image of this repository's Dockerfile, built when this engine hasn't got it yet; null when it
 * can't be, as without a way to the registry or to Debian.
 */
export async function image(say: Say, major: number): Promise<string | null> {
  const text = readFileSync(join(checkout, 'Dockerfile'));
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12);
  const name = `tock-postgres:${major}-${hash}`;
  const client = await getContainerRuntimeClient();
  if (await client.image.exists(ImageName.fromString(name))) return name;
  try {
    const args = { DEBIAN: releases[major]?.release ?? '', POSTGRES: String(major) };
    await say.step(
      `Building the Docker image with PostgreSQL ${major}, pg_cron and PgBouncer`,
      () =>
        GenericContainer.fromDockerfile(checkout)
          .withBuildArgs(args)
          .build(name, { deleteOnExit: false }),
    );
    return name;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    say.note(`The Docker image can't be built: ${lastLines(why, 5)}\nTrying without Docker.`);
    return null;
  }
}
