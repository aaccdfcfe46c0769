import { refusal } from '../../http/problem.ts';
import { type Call, forEach, type Handler, json } from '../qstash/call.ts';
import { deadLetters, letterOf, retry } from '../qstash/dlq.ts';
import type { MessageTask } from '../qstash/search.ts';
import { runOfMessage } from './find.ts';
import { nameOf, type Run, runKey, taskIn, withKey } from './run.ts';
import { addTasks, messagesOf } from './runs.ts';

async function runOfLetter({ tock }: Call, letter: MessageTask): Promise<Run> {
  const run = await runOfMessage(tock, letter);
  if (run) return run;
  throw refusal(404, `the workflow run of the message ${letter.task.id} is gone`);
}

/** Runs of letters, each with what becomes of it. */
const eachRun = async <T>(call: Call, change: (run: Run, letter: MessageTask) => Promise<T[]>) => {
  const { letters, cursor } = await deadLetters(call, true);
  // A letter whose run is gone does not keep the others from going on.
  const changed = await forEach(letters, async (letter) => {
    const run = await runOfMessage(call.tock, letter);
    return run ? change(run, letter) : [];
  });
  return json({ workflowRuns: changed.flat(), cursor });
};

/** The message that has failed is delivered again, so the same run goes on. */
export const resume: Handler = (call) =>
  eachRun(call, async (run, letter) =>
    (await retry(call, [letter])).length > 0 ? [nameOf(run)] : [],
  );

/** A new run with the first message of the one that has failed. */
export const restart: Handler = (call) =>
  eachRun(call, async (run) => {
    const name = `wfr_${crypto.randomUUID()}`;
    const nonce = crypto.randomUUID();
    const workflow = { run: name, nonce, kind: 'init' as const };
    const { parent: _none, ...task } = taskIn(run, { ...run.message, nonce, workflow });
    await addTasks(call.tock, [withKey(task as ReturnType<typeof taskIn>, run, runKey(name))]);
    return [{ workflowRunId: name, workflowCreatedAt: Date.now() }];
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
