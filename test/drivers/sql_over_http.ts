import type { IncomingMessage } from 'node:http';
import pg from 'pg';
import { MAX_BYTES } from './neon_limits.ts';

export type SqlResponse = { status: number; body: string };

const errorFields = [
  ...['code', 'detail', 'hint', 'position', 'internalPosition', 'internalQuery', 'severity'],
  ...['where', 'table', 'column', 'schema', 'dataType', 'constraint', 'file', 'line', 'routine'],
];

/** An error has all fields; those that PostgreSQL did not send are null. */
function refusal(status: number, message: string, databaseError: object = {}): SqlResponse {
  const empty = Object.fromEntries(errorFields.map((name) => [name, null]));
  const sent = Object.entries(databaseError).filter(([name, value]) => name in empty && value);
  return { status, body: JSON.stringify({ message, ...empty, ...Object.fromEntries(sent) }) };
}

async function read(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes <= MAX_BYTES) chunks.push(chunk);
  }
  return bytes > MAX_BYTES ? null : Buffer.concat(chunks).toString();
}

function parameter(value: unknown): string | null {
  if (value === null || typeof value === 'string') return value;
  if (Array.isArray(value)) throw new Error('Tock sends no arrays');
  return JSON.stringify(value);
}

const types = { getTypeParser: () => (value: string) => value } as unknown as pg.CustomTypesConfig;

async function run(
  client: pg.Client,
  text: string,
  values: (string | null)[],
): Promise<SqlResponse> {
  // The extended protocol is used even without values, because only it refuses a second statement.
  const config = { text, values, types, rowMode: 'array' as const, queryMode: 'extended' };
  const { rows, fields, command, rowCount } = await client.query(config);
  const described = fields.map((field) => ({ ...field, format: 'text' }));
  const body = JSON.stringify({ fields: described, rows, command, rowCount, rowAsArray: true });
  // Neon checks the size before it adds a row, so the last row may exceed the limit. Here it may not: Neon documents
  // 10 MiB, and Tock's answers are one row.
  if (Buffer.byteLength(body) > MAX_BYTES) {
    return refusal(507, `response is too large (max is ${MAX_BYTES} bytes)`);
  }
  return { status: 200, body };
}

/** Neon answers 400 for errors of SQL and for a database that does not exist, and 500 for other errors of the login. */
function refused(error: unknown, connected: boolean): SqlResponse {
  const databaseError = error as { message: string; severity?: string; code?: string };
  const users = databaseError.severity && (connected || databaseError.code === '3D000');
  const fields = databaseError.severity ? databaseError : {};
  return refusal(users ? 400 : 500, databaseError.message, fields);
}

export type SqlRequest = { text: string; bytes: number };

/** Runs one statement in a new session, and answers as Neon's proxy does. */
export async function sqlOverHttp(
  request: IncomingMessage,
  place: { host: string; port: number },
  onQuery: (what: SqlRequest) => void,
): Promise<SqlResponse> {
  const text = await read(request);
  if (text === null) return refusal(413, `request is too large (max is ${MAX_BYTES} bytes)`);
  const connectionString = request.headers['neon-connection-string'];
  if (typeof connectionString !== 'string')
    return refusal(400, 'invalid header: neon-connection-string');
  const { 'neon-raw-text-output': raw, 'neon-array-mode': array } = request.headers;
  if (raw !== 'true' || array !== 'true') return refusal(500, 'the bridge knows raw arrays only');
  const { query, params = [] } = JSON.parse(text);
  if (typeof query !== 'string') return refusal(400, 'could not parse the HTTP request body');
  onQuery({ text: query, bytes: Buffer.byteLength(text) });
  const url = new URL(connectionString);
  const client = new pg.Client({
    ...place,
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: decodeURIComponent(url.pathname.slice(1)),
  });
  client.on('error', () => {});
  let connected = false;
  try {
    await client.connect();
    connected = true;
    return await run(client, query, params.map(parameter));
  } catch (error) {
    return refused(error, connected);
  } finally {
    await client.end().catch(() => {});
  }
}
