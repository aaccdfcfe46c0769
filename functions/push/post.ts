/** Sends one request, follows no redirect, and resolves when the answer's headers arrive. Rejects without an answer. */
export type Post = (url: string, init: PostInit) => Promise<Response>;

/** The default of the method is POST. */
export type PostInit = {
  method?: string;
  headers: Record<string, string>;
  body: string | Uint8Array<ArrayBuffer> | null;
  signal: AbortSignal;
};

/** For runtimes that allow only public addresses (see wrangler.toml), or if private ones are allowed. */
export const postByFetch: Post = (url, init) =>
  fetch(url, { method: 'POST', redirect: 'manual', ...init });

export const isWorkers = () => globalThis.navigator?.userAgent === 'Cloudflare-Workers';
