import type { Plan } from './requests.ts';
import type { Sent, Target } from './target.ts';
import { lostContentOf, violationOf } from './violations.ts';

const reading = ['GET', 'HEAD', 'OPTIONS'];

/** Sends a request. Throws if its answer breaks a rule of all answers; the error has a command that repeats it. */
export async function checkRequest(at: Target, plan: Plan): Promise<Sent> {
  const sent = await at.send(plan);
  const quiet = reading.includes(plan.method) || sent.status >= 400;
  const changed = quiet && (await at.digest()) !== sent.before;
  const wrong =
    violationOf(sent, at) ??
    (changed ? 'rows were changed' : null) ??
    (await lostContentOf(sent, at));
  if (!wrong) return sent;
  const report = `${sent.curl}\n${sent.answer.slice(0, 1000)}`;
  throw new Error(`${plan.name}: ${sent.status}, ${wrong}\n${report}`);
}
