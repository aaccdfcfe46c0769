/** A signal that aborts on SIGTERM or SIGINT; a second one ends the process, as without it. Node, Bun and Deno. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  const names = ['SIGTERM', 'SIGINT'] as const;
  const hear = () => {
    for (const name of names) process.off(name, hear);
    stop.abort();
  };
  for (const name of names) process.on(name, hear);
  return stop.signal;
}
