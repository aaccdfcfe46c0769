/** A signal that aborts on SIGTERM or SIGINT; a second one ends the process, as without it. Node, Bun and Deno. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => stop.abort());
  return stop.signal;
}
