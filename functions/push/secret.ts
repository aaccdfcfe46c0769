import { Webhook } from 'standardwebhooks';
import { misconfigured } from '../database/errors.ts';
import type { Bindings } from '../env.ts';

/** What the database stores about a queue's secrets. The secrets are derived from it and from the master secrets. */
export type Generation = { queue: string; generation: number; previous_until: string | null };

/** Signing secrets (whsec_…), newest first. `previous` still sign during an overlap. */
export type Secrets = { current: string[]; previous: string[] };

const MIN_LENGTH = 24;
const encoder = new TextEncoder();

/** The master secrets, newest first; empty if push is off. */
export function masterSecrets({ TOCK_PUSH_SECRET }: Bindings): string[] {
  const masters = (TOCK_PUSH_SECRET ?? '').split(/\s+/).filter(Boolean);
  if (masters.every((master) => master.length >= MIN_LENGTH)) return masters;
  throw misconfigured(
    `TOCK_PUSH_SECRET is shorter than ${MIN_LENGTH} characters.`,
    'make one with: openssl rand -base64 32; and set it with: wrangler secret put TOCK_PUSH_SECRET',
  );
}

async function derive(master: string, queue: string, generation: number): Promise<string> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', encoder.encode(master), algorithm, false, [
    'sign',
  ]);
  const name = encoder.encode(`tock push ${generation} ${queue}`);
  const bytes = new Uint8Array(await crypto.subtle.sign('HMAC', key, name));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}

/** The secrets of a queue, one from each master secret; and those of the previous generation during its overlap. */
export async function secretsOf(env: Bindings, queueGeneration: Generation): Promise<Secrets> {
  const masters = masterSecrets(env);
  const deriveAll = (generation: number) =>
    Promise.all(masters.map((master) => derive(master, queueGeneration.queue, generation)));
  const overlaps =
    queueGeneration.previous_until !== null &&
    Date.parse(queueGeneration.previous_until) > Date.now();
  return {
    current: await deriveAll(queueGeneration.generation),
    previous: overlaps ? await deriveAll(queueGeneration.generation - 1) : [],
  };
}

/** The three headers of Standard Webhooks. The id is the task's id, so all attempts have the same. */
export function signatureHeaders({ current, previous }: Secrets, id: string, body: string) {
  const at = new Date();
  const signatures = [...current, ...previous].map((secret) =>
    new Webhook(secret).sign(id, at, body),
  );
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': signatures.join(' '),
  };
}
