/** The groups of nodes that reach each other, largest first. A single node is no group. */
export function cycles(edges: Map<string, Set<string>>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const groups: string[][] = [];
  function visit(node: string): void {
    index.set(node, index.size);
    low.set(node, index.size - 1);
    stack.push(node);
    for (const next of edges.get(node) ?? []) {
      if (!index.has(next)) visit(next);
      if (stack.includes(next)) {
        low.set(node, Math.min(low.get(node) as number, low.get(next) as number));
      }
    }
    if (low.get(node) !== index.get(node)) return;
    const group = stack.splice(stack.indexOf(node));
    if (group.length > 1) groups.push(group.sort());
  }
  for (const node of edges.keys()) if (!index.has(node)) visit(node);
  return groups.sort((a, b) => b.length - a.length);
}

/** The number of nodes that can be reached from one, itself included, without following the edges of `ends`. */
export function reachable(edges: Map<string, string[]>, from: string, ends: string[]): number {
  const seen = new Set([from]);
  for (const node of seen) {
    if (!ends.includes(node)) for (const next of edges.get(node) ?? []) seen.add(next);
  }
  return seen.size;
}
