/** One POST and the head of its answer; a redirect is an answer. Rejects when none came. */
export type Post = (url: string, init: PostInit) => Promise<Response>;

export type PostInit = { headers: Record<string, string>; body: string; signal: AbortSignal };

/** Where the runtime itself keeps to public addresses (see wrangler.toml), or nobody needs it to. */
export const postByFetch: Post = (url, init) =>
  fetch(url, { method: 'POST', redirect: 'manual', ...init });

export const isWorkers = () => globalThis.navigator?.userAgent === 'Cloudflare-Workers';
