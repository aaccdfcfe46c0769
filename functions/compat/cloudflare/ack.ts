import { refusal } from '../../http/problem.ts';
import * as s from '../../http/schemas.ts';
import { validate } from '../../http/validate.ts';
import { checkKey, expectOk } from '../calls.ts';
import { type Call, delaySeconds, fields } from './messages.ts';

/** Each pull has a lease, and each lease is a call or two: this many make up to 200 statements. */
const MAX_PULLS = 100;

const lease_id = s.upTo(1000);
const ackBody = fields({
  acks: s.list(fields({ lease_id }), 0).nullish(),
  retries: s.list(fields({ lease_id, delay_seconds: delaySeconds }), 0).nullish(),
});

type Outcome = { id: string; retry_in_seconds?: number; error?: object };
/** What ends of one lease, by task. */
type Ends = { acks: Map<string, Outcome>; retries: Map<string, Outcome> };

/** The lease and the task that a lease_id names; null if no pull has returned such a one. */
function parseLeaseId(text: string): { lease: string; id: string } | null {
  const [lease = '', id = '', ...rest] = text.split('.');
  const isValid = s.leaseToken.safeParse(lease).success && s.id.safeParse(id).success;
  return isValid && rest.length === 0 ? { lease, id } : null;
}

const retried = { name: 'Retry', message: 'The consumer asked for a retry.' };

/** POST …/messages/ack: completes and fails runs, lease by lease. */
export async function ack({ tock, body }: Call): Promise<object> {
  const { acks, retries } = validate(ackBody, body);
  const warnings = new Map<string, string>();
  const leases = new Map<string, Ends>();
  const add = (kind: keyof Ends, leaseId: string, outcome: Omit<Outcome, 'id'>) => {
    const parsed = parseLeaseId(leaseId);
    if (!parsed) return void warnings.set(leaseId, 'This is no lease_id of a pull.');
    const { lease, id } = parsed;
    const ends = leases.get(lease) ?? { acks: new Map(), retries: new Map() };
    leases.set(lease, ends);
    ends[kind].set(id, { id, ...outcome });
  };
  for (const { lease_id } of acks ?? []) add('acks', lease_id, {});
  for (const { lease_id, delay_seconds } of retries ?? []) {
    add('retries', lease_id, { retry_in_seconds: delay_seconds ?? 0, error: retried });
  }
  if (leases.size > MAX_PULLS) {
    throw refusal(422, `acks and retries: of up to ${MAX_PULLS} pulls a call, not ${leases.size}`);
  }
  if (leases.size === 0) await checkKey(tock);

  let hasChanged = false;
  /** The number of runs that ended. */
  async function end(lease: string, path: string, outcomes: Map<string, Outcome>, list: string) {
    if (outcomes.size === 0) return 0;
    const answer = await tock('POST', `/v1/leases/${lease}/${path}`, {
      [list]: [...outcomes.values()],
    });
    const warn = (ids: Iterable<string>, text: string) => {
      for (const id of ids) warnings.set(`${lease}.${id}`, text);
    };
    // A lost lease is no error. Nor is a refusal after a change: the answer must say what was changed.
    if (answer.status === 409 || (hasChanged && answer.status === 403)) {
      warn(outcomes.keys(), answer.body.detail);
      return 0;
    }
    const { completed, failed, refused } = expectOk(answer);
    hasChanged = true;
    warn(refused, 'The message is not in this lease, or it has ended otherwise.');
    return completed ?? failed;
  }
  let [ackCount, retryCount] = [0, 0];
  for (const [lease, ends] of leases) {
    ackCount += await end(lease, 'complete', ends.acks, 'results');
    retryCount += await end(lease, 'fail', ends.retries, 'failures');
  }
  return { ackCount, retryCount, warnings: Object.fromEntries(warnings) };
}
