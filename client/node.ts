/** A signal that aborts on SIGTERM or SIGINT. A second SIGTERM or SIGINT ends the process. For Node, Bun and Deno. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  const names = ['SIGTERM', 'SIGINT'] as const;
  const onSignal = () => {
    for (const name of names) process.off(name, onSignal);
    controller.abort();
  };
  for (const name of names) process.on(name, onSignal);
  return controller.signal;
}
