import type { Sent, Target } from './target.ts';

/** Text that no answer may contain: a stack, a file, SQL, a constraint, a key's secret. */
const leaks =
  /node_modules|\bat \S+ \(|\.ts:\d|\bselect .{1,80}? from\b|\btock\.\w+\(|PL\/pgSQL|SQLSTATE|_pkey|_fkey|_check\b|_not_null|pg_catalog|tock_[0-9a-f]{8}_/i;

const inputs = [400, 413, 415, 422];

function ofRefusal({ status, headers, answer, text, path }: Sent, key: string): string | null {
  if (headers.get('content-type') !== 'application/problem+json') return 'no problem+json';
  const problem = JSON.parse(answer);
  if (problem.status !== status) return `it says ${problem.status}`;
  if (problem.type !== `/errors/TK${status}`) return `type ${problem.type}`;
  if (inputs.includes(status) && !problem.field) return 'no field named';
  if (answer.includes(key)) return 'the key in it';
  const [leak] = leaks.exec(answer) ?? [];
  if (leak && !unescape(`${path} ${text}`).includes(leak)) return `a leak: ${leak}`;
  return answer.length > 5_000 ? `${answer.length} characters` : null;
}

/** True for JSON. All answers except the metrics are JSON. */
const isJson = ({ headers }: Sent) => /json/.test(headers.get('content-type') ?? '');

/** Returns which rule an answer breaks; null if it breaks none. */
export function violationOf(sent: Sent, { operations, tock }: Target): string | null {
  const { status, answer, plan, errors } = sent;
  if (status >= 500) return 'an error of the server';
  if (status === 401 && !('Authorization' in plan.headers)) return 'its key was ended';
  // Tock must refuse an input with a TK code. Any other error means that a check is missing.
  const strange = errors.find(({ code }) => !code?.startsWith('TK'));
  if (strange) return `the database said ${strange.code}: ${strange.message}`;
  if (plan.method === 'HEAD' || plan.method === 'OPTIONS') return null;
  if (status >= 400) {
    const wrong = ofRefusal(sent, tock.key);
    if (wrong) return wrong;
  }
  const operation = operations.find(
    (candidate) => candidate.name === plan.name && candidate.method === plan.method,
  );
  // A path with an additional part is another route, which the document does not describe.
  if (!operation || (plan.path !== operation.path && status < 400)) return null;
  return operation.judge(status, isJson(sent) ? JSON.parse(answer) : answer);
}

// With these options the answered task may be an older one, or its payload may contain results of other tasks.
const changing = ['unique_key', 'include_results'];

const keptBySql = `select n - 1 as n from unnest($2::text[]) with ordinality i (id, n)
  cross join lateral tock.task(i.id::bigint) t
  cross join lateral (select case
    when $1::jsonb ? 'payloads' then jsonb_build_object('payload', $1::jsonb -> 'payloads' -> (n - 1)::int)
    else coalesce($1::jsonb -> 'tasks' -> (n - 1)::int, $1::jsonb) end as sent) s
  where not sent ?| $3 and (t.payload::jsonb is distinct from nullif(sent -> 'payload', 'null')
    or t.tenant is distinct from sent ->> 'tenant' or t.priority <> coalesce(sent ->> 'priority', '5')::numeric
    or t.options -> 'headers' is distinct from nullif(nullif(sent -> 'headers', 'null'), '{}')
    or t.options ->> 'concurrency_key' is distinct from sent ->> 'concurrency_key' or t.options ->> 'push_url' is distinct from sent ->> 'push_url')`;

const shownBySql = `select key as n from jsonb_each($1::jsonb) s
  where key not in ('options', 'push', 'scopes') and key !~ '_at$' and s.value::text !~ '^-?\\d*\\.' and s.value is distinct from 'null' and $2::jsonb -> key is distinct from s.value`;

/** Returns which part of a request is not stored as it was sent; null if all is. */
export async function lostContentOf({ plan, status, text, answer }: Sent, { tock }: Target) {
  // With another method the body has no meaning.
  const isOfPlan = plan.name === `${plan.method} ${plan.path}`;
  if (status >= 300 || text === null || !isOfPlan) return null;
  if (plan.name === 'POST /v1/queues/{queue}/tasks') {
    const { rows } = await tock.owner.query(keptBySql, [text, JSON.parse(answer).ids, changing]);
    return rows.length === 0 ? null : `of task ${rows[0].n} something is not as it was sent`;
  }
  if (!/^(PUT \/v1\/(queues|schedules)|PATCH .*concurrency_key|POST \/v1\/keys$)/.test(plan.name))
    return null;
  const { rows } = await tock.owner.query(shownBySql, [text, answer]);
  return rows.length === 0 ? null : `${rows[0].n} is not as it was sent`;
}
