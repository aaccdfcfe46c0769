import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GenericContainer, getContainerRuntimeClient, ImageName } from 'testcontainers';
import { releases } from './debian.ts';
import { checkout } from './paths.ts';
import { lastLines } from './run.ts';
import type { StepReporter } from './step_reporter.ts';

/**
 * The name of the image of this repository's Dockerfile. It is built if the engine does not have it. Null if it cannot
 * be built, for example without network access.
 */
export async function image(reporter: StepReporter, major: number): Promise<string | null> {
  const text = readFileSync(join(checkout, 'Dockerfile'));
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12);
  const name = `tock-postgres:${major}-${hash}`;
  const client = await getContainerRuntimeClient();
  if (await client.image.exists(ImageName.fromString(name))) return name;
  try {
    const args = { DEBIAN: releases[major]?.release ?? '', POSTGRES: String(major) };
    await reporter.step(
      `Building the Docker image with PostgreSQL ${major}, pg_cron and PgBouncer`,
      () =>
        GenericContainer.fromDockerfile(checkout)
          .withBuildArgs(args)
          .build(name, { deleteOnExit: false }),
    );
    return name;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    reporter.note(
      `The Docker image cannot be built: ${lastLines(why, 5)}\nContinuing without Docker.`,
    );
    return null;
  }
}
