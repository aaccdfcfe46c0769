import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { withApi } from '../api.ts';
import { checkedId, payloadArgument, unknownTask, wholeNumber } from '../arguments.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, table } from '../table.ts';

type Step = Answer<'GET /v1/tasks/{id}/steps'>['steps'][number];

/** What a step returned or threw, or what it waits for. */
function outcome({ result, error, event, child_id, due_at, state }: Step): string | null {
  if (state === 'waiting')
    return event ? `for ${event}` : child_id ? `for task ${child_id}` : `until ${moment(due_at)}`;
  const value = result ?? error;
  return value === null ? null : JSON.stringify(value);
}

export function stepTable(steps: Step[]): string {
  return table([
    ['step', 'kind', 'state', 'failures', 'outcome', 'saved'],
    ...steps.map((step) => [
      step.name,
      step.kind,
      step.unused ? `${step.state}, unused` : step.state,
      step.failures || null,
      outcome(step),
      moment(step.saved_at),
    ]),
  ]);
}

async function showSteps(idText: string, options: Options) {
  const id = checkedId(idText);
  const answer = await withApi(options, (api) =>
    api.find('GET /v1/tasks/{id}/steps', { path: { id } }),
  );
  if (!answer) throw unknownTask(id);
  const { steps } = answer;
  print(options, answer, () => stepTable(steps));
  note(options, steps.length === 0 && `Task ${id} has saved no step.`);
}

export function addSteps(program: Command): void {
  program
    .command('steps <id>')
    .description('list what the handler of a task has done, and what the task waits for')
    .action((id: string, _options, command: Command) => showSteps(id, optionsOf(command)));
}

async function signal(event: string, payload: string, options: Options<{ requestId?: string }>) {
  const json = await payloadArgument(payload);
  const id =
    options.requestId === undefined ? '' : `,"request_id":${JSON.stringify(options.requestId)}`;
  const body = `{"event":${JSON.stringify(event)},"payload":${json}${id}}`;
  const answer = await withApi(options, (api) => api.call('POST /v1/events', { body }));
  print(options, answer, () =>
    answer.accepted
      ? `${answer.woken} ${answer.woken === 1 ? 'task continues' : 'tasks continue'}\n`
      : 'The event had a payload before, which stays.\n',
  );
}

export function addEventLink(program: Command): void {
  program
    .command('event-link <event>')
    .description('make a URL to which anyone can post the payload of an event, once')
    .option(
      '--valid-seconds <seconds>',
      'how long it works: a week by default',
      wholeNumber(1, 31_536_000),
    )
    .action(async (event: string, _options, command: Command) => {
      const options = optionsOf<{ validSeconds?: number }>(command);
      const body = { event, valid_seconds: options.validSeconds };
      const answer = await withApi(options, (api) => api.call('POST /v1/event-links', { body }));
      const path = `/v1/events/${answer.token}`;
      print(options, { ...answer, path }, () => `POST ${path} until ${answer.expires_at}\n`);
    });
}

export function addSignal(program: Command): void {
  program
    .command('signal <event> [payload]')
    .description(
      'give an event its payload, JSON or - for stdin, and wake the tasks that wait for it',
    )
    .option('--request-id <id>', 'makes a repeated call give the same answer')
    .action((event: string, payload: string | undefined, _options, command: Command) =>
      signal(event, payload ?? 'null', optionsOf(command)),
    );
}
