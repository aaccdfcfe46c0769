import { refusal } from '../../http/problem.ts';
import { type Call, forEach, type Handler, json } from '../qstash/call.ts';
import { deadLetters, letterOf, retry } from '../qstash/dlq.ts';
import { bytesOf } from '../qstash/message.ts';
import type { MessageTask } from '../qstash/search.ts';
import { runAt, runOfMessage, runsOf } from './find.ts';
import { nameOf, type Run, runKey, taskIn, withKey } from './run.ts';
import { addTasks, messagesOf } from './runs.ts';

async function runOfLetter({ tock }: Call, letter: MessageTask): Promise<Run> {
  const run = await runOfMessage(tock, letter);
  if (run) return run;
  throw refusal(404, `the workflow run of the message ${letter.task.id} is gone`);
}

/** Runs of letters, each with what becomes of it. */
const eachRun = async <T>(
  call: Call,
  change: (run: Run, letters: MessageTask[]) => Promise<T[]>,
) => {
  const { letters, cursor } = await deadLetters(call, true);
  const runs = await runsOf(call.tock, letters);
  const changed = await forEach(runs, ({ run, messages }) => change(run, messages));
  return json({ workflowRuns: changed.flat(), cursor });
};

/** The messages that have failed are delivered again, so the same run goes on. */
export const resume: Handler = (call) =>
  eachRun(call, async (run, letters) =>
    (await retry(call, letters)).length > 0 ? [nameOf(run)] : [],
  );

/** The name of the run that a restart begins. No one can take it who does not know the nonce. */
async function restartedName({ part }: Run): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', bytesOf(`restart ${part.nonce}`));
  const digits = [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0'));
  return `wfr_${digits.join('').slice(0, 32)}`;
}

/** A new run with the first message of the one that has failed. A repeated call finds it by its name. */
export const restart: Handler = (call) =>
  eachRun(call, async (run) => {
    const name = await restartedName(run);
    const nonce = crypto.randomUUID();
    const workflow = { run: name, nonce, kind: 'init' as const };
    const { parent: _none, ...task } = taskIn(run, { ...run.message, nonce, workflow });
    const first = withKey(task as ReturnType<typeof taskIn>, run, runKey(name));
    const [id = ''] = await addTasks(call.tock, [first]);
    const restarted = await runAt(call.tock, id);
    return restarted ? [nameOf(restarted)] : [];
  });

/** The failure function of a run is called again, if its call has failed. */
export const retryFailure: Handler = async (call, id = '') => {
  const run = await runOfLetter(call, await letterOf(call, id));
  const failed = (await messagesOf(call.tock, run)).filter(
    ({ task, message: { workflow } }) =>
      workflow?.kind === 'failure' && workflow.step === id && task.state === 'dead',
  );
  const [response] = await retry(call, failed.slice(-1));
  if (!response)
    throw refusal(404, `no failed failure callback of the message ${id.slice(0, 100)}`);
  return json({ ...nameOf(run), ...response });
};
