import * as s from '../http/schemas.ts';
import { task } from './task_schemas.ts';

const stage = s.queueName
  .nullish()
  .describe('The next stage of a task with a pipeline. Null ends the pipeline here.');
const spawn = s
  .options({
    queue: s.queueName.nullish().describe('The queue of the tasks. Default: that of the task.'),
    tasks: s.list(task, 1).describe('The tasks to add.'),
    wait: s.flag
      .nullish()
      .describe(
        'The task continues when these tasks have ended, with their results. Default: false.',
      ),
    on_failure: s
      .word('run', 'cancel', 'wait')
      .nullish()
      .describe('With `wait`, what the task does if one of them dies. Default: `run`.'),
  })
  .nullish()
  .describe(
    'Tasks that the completion adds. The key also needs the scope `enqueue` for their queue.',
  );
export const id = s.id.describe('The id of a task in this lease.');
export const result = s.options({
  id,
  result: s.anything.optional().describe('The result, any JSON. Default: null.'),
  stage,
  spawn,
});
/** The fields of a failure besides its id. */
export const outcome = {
  error: s.anything
    .optional()
    .describe('The error, any JSON. Lists and groups show its `message`, if it has one.'),
  retry_in_seconds: s.seconds
    .nullish()
    .describe('The wait before the next attempt. Default: the backoff of the task.'),
  fatal: s.flag.nullish().describe('The task is dead without a further attempt. Default: false.'),
};
export const failure = s.options({ id, ...outcome });
