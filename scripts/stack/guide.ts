/** The final output of `npm start`: the URL, the key, and three lines that run a task. */
export function guide(url: string, key: string, envFile: string, log: string): string {
  const post = `curl -sS -H 'authorization: Bearer ${key}' -H 'content-type: application/json'`;
  const lease = `grep -o '"lease" *: *"[^"]*"' | head -n 1 | cut -d '"' -f 4`;
  return `
Tock serves ${url}
Key: ${key}
The dashboard is the same address in a browser: sign in with the key.
Both, and the database's URLs, are in ${envFile}
Errors and warnings of the Worker, and of its consumers, go to ${log}

Paste into another terminal: enqueue, claim, complete.

${post} -d '{"payload":{"hello":"world"}}' ${url}/v1/queues/hello/tasks; echo
CLAIM=$(${post} -d '{"worker":"me"}' ${url}/v1/queues/hello/claim); printf '%s\\n' "$CLAIM"; LEASE=$(printf '%s' "$CLAIM" | ${lease})
${post} -d '{}' ${url}/v1/leases/$LEASE/complete; echo

Ctrl-C stops everything; the data stays. To start afresh: npm start -- --reset
`;
}
