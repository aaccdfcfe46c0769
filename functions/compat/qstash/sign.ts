import type { Bindings } from '../../env.ts';
import { masterSecrets } from '../../push/secret.ts';
import { bytesOf, toBase64 } from './message.ts';

/** `current` signs. A receiver accepts both, so that the next may become the current one. */
export type SigningKeys = { current: string; next: string };

/** How long a receiver accepts a signature. */
const LIFE_SECONDS = 300;

async function hmac(key: string, text: string): Promise<Uint8Array> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', bytesOf(key), algorithm, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, bytesOf(text)));
}

const base64url = (bytes: Uint8Array) =>
  toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

const derive = async (master: string, generation: number) =>
  `sig_${base64url(await hmac(master, `tock/qstash/${generation}`))}`;

/**
 * The keys of a generation: the next one is the current one of the next generation. With two secrets in
 * TOCK_PUSH_SECRET the old one signs, and the next key is that of the new one.
 */
export async function signingKeys(env: Bindings, generation: number): Promise<SigningKeys> {
  const masters = masterSecrets(env);
  const [newest = '', oldest = ''] = [masters[0], masters.at(-1)];
  return {
    current: await derive(oldest, generation),
    next: await derive(newest, newest === oldest ? generation + 1 : generation),
  };
}

/** The Upstash-Signature of a request. */
export async function sign(
  key: string,
  url: string,
  body: Uint8Array<ArrayBuffer>,
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', body));
  const claims = {
    iss: 'Upstash',
    sub: url,
    exp: now + LIFE_SECONDS,
    nbf: now,
    iat: now,
    jti: `jwt_${crypto.randomUUID()}`,
    body: base64url(hash),
  };
  const part = (value: object) => base64url(bytesOf(JSON.stringify(value)));
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  return `${signed}.${base64url(await hmac(key, signed))}`;
}
