import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { home } from './paths.ts';

/** `.tock/dev.env`, in shell syntax. */
export type DevEnv = {
  TOCK_URL: string;
  TOCK_KEY: string;
  DATABASE_URL: string;
  POOLED_DATABASE_URL: string;
};

/** `.tock/secrets.json`, created once for the local cluster; `push` is its Worker's TOCK_PUSH_SECRET. */
export type Secrets = { superuser: string; owner: string; edge: string; push: string };

export function writeSecret(name: string, text: string): string {
  const path = join(home(), name);
  writeFileSync(path, text, { mode: 0o600 });
  chmodSync(path, 0o600);
  return path;
}

function readText(name: string): string {
  const path = join(home(), name);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

export function readDevEnv(): Partial<DevEnv> {
  const lines = readText('dev.env').matchAll(/^(?:export )?([A-Z_]+)='?([^'\n]*)'?$/gm);
  return Object.fromEntries([...lines].map(([, name, value]) => [name, value]));
}

export function writeDevEnv(values: DevEnv): void {
  const lines = Object.entries(values).map(([name, value]) => `export ${name}='${value}'\n`);
  writeSecret('dev.env', lines.join(''));
}

export function secrets(): Secrets {
  const stored = readText('secrets.json');
  const word = () => randomBytes(18).toString('hex');
  const created: Secrets = {
    superuser: word(),
    owner: word(),
    edge: word(),
    push: word(),
    // An older file may lack the secret for push.
    ...(stored && JSON.parse(stored)),
  };
  if (stored && created.push === JSON.parse(stored).push) return created;
  writeSecret('secrets.json', JSON.stringify(created));
  return created;
}
