import { Webhook } from 'standardwebhooks';
import { misconfigured } from '../database/errors.ts';
import type { Bindings } from '../env.ts';

/** Which secrets sign for a queue, as the database keeps it: no secret, only which one. */
export type Generation = { queue: string; generation: number; previous_until: string | null };

/** whsec_…, as receivers take them. The first of `current` is the newest. */
export type Secrets = { current: string[]; previous: string[] };

const SHORTEST = 24;
const encoder = new TextEncoder();

/** What the queues' secrets are made of, the newest first; none where nothing is to be pushed. */
export function mastersOf({ TOCK_PUSH_SECRET }: Bindings): string[] {
  const masters = (TOCK_PUSH_SECRET ?? '').split(/\s+/).filter(Boolean);
  if (masters.every((one) => one.length >= SHORTEST)) return masters;
  throw misconfigured(
    `TOCK_PUSH_SECRET is shorter than ${SHORTEST} characters.`,
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

/** The secrets of a queue: one of each master, and those of the generation before while its overlap lasts. */
export async function secretsOf(env: Bindings, of: Generation): Promise<Secrets> {
  const masters = mastersOf(env);
  const all = (generation: number) =>
    Promise.all(masters.map((master) => derive(master, of.queue, generation)));
  const overlaps = of.previous_until !== null && Date.parse(of.previous_until) > Date.now();
  return {
    current: await all(of.generation),
    previous: overlaps ? await all(of.generation - 1) : [],
  };
}

/** The three headers of Standard Webhooks; the id is the task's, the same at each attempt. */
export function signed({ current, previous }: Secrets, id: string, body: string) {
  const at = new Date();
  const signatures = [...current, ...previous].map((one) => new Webhook(one).sign(id, at, body));
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    'webhook-signature': signatures.join(' '),
  };
}
