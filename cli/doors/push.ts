import type pg from 'pg';
import { type Generation, mastersOf, secretsOf } from '../../functions/push/secret.ts';
import { Failure } from '../failure.ts';
import { ask } from './ask.ts';

/** What signs a queue's pushes. */
export type PushSecret = {
  queue: string;
  generation: number;
  secret: string;
  secrets: string[];
  previous: string[];
  previous_until: string | null;
};

/** Null when there is no such queue. */
export type Push = {
  pushSecret(queue: string): Promise<PushSecret | null>;
  rotatePushSecret(queue: string, overlapSeconds?: number): Promise<PushSecret | null>;
};

type Call = { foundOrNull<T>(route: string, body?: string): Promise<T | null> };

export function httpPush({ foundOrNull }: Call): Push {
  const at = (queue: string) => `/v1/queues/${encodeURIComponent(queue)}/push-secret`;
  return {
    pushSecret: (queue) => foundOrNull(`GET ${at(queue)}`),
    rotatePushSecret: (queue, overlap_seconds) =>
      foundOrNull(`POST ${at(queue)}/rotate`, JSON.stringify({ overlap_seconds })),
  };
}

/** The database has no secret: it is made here, of the same word as the Worker's. */
export function sqlPush(client: pg.Client): Push {
  const env = { TOCK_PUSH_SECRET: process.env.TOCK_PUSH_SECRET ?? '' };

  async function made(verb: string, values: unknown[]): Promise<PushSecret | null> {
    if (mastersOf(env).length === 0) {
      throw new Failure(
        'There is no TOCK_PUSH_SECRET here, and the database has none.',
        "Set it to the Worker's, or ask the Worker: --url and --key.",
        2,
      );
    }
    const [row] = await ask<Generation>(
      client,
      `select queue, generation, to_json(previous_until) #>> '{}' as previous_until from ${verb}`,
      values,
    );
    if (!row) return null;
    const { current, previous } = await secretsOf(env, row);
    return { ...row, secret: current[0] as string, secrets: current, previous };
  }

  return {
    pushSecret: (queue) => made('tock.push_secret(p_queue => $1)', [queue]),
    rotatePushSecret: (queue, seconds = 86_400) =>
      made('tock.rotate_push_secret(p_queue => $1, p_overlap_seconds => $2)', [queue, seconds]),
  };
}
