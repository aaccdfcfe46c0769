import type { Command } from 'commander';
import type { Answer } from '../../client/wire.ts';
import { type Api, withApi } from '../api.ts';
import { checkedId, number, unknownTask } from '../arguments.ts';
import { note, type Options, optionsOf, print } from '../output.ts';
import { moment, table } from '../table.ts';
import { stepTable } from './steps.ts';

type Task = Answer<'GET /v1/tasks/{id}'>;
type Run = Task['runs'][number];

/** Final states. */
const finalStates = ['done', 'dead', 'cancelled', 'expired'];

/** Returns the task when it has ended or the time is up. Each call waits up to 30 seconds. */
async function waitForEnd(api: Api, id: string, seconds: number): Promise<Task | null> {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const wait = Math.min(30, Math.max(0, Math.ceil((deadline - Date.now()) / 1000)));
    const query = { wait_seconds: wait || null };
    const task = await api.find('GET /v1/tasks/{id}', { path: { id }, query });
    if (!task || finalStates.includes(task.state) || Date.now() >= deadline) return task;
  }
}

function brief(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 99)}…` : text;
}

/** A progress in words, for example: 40 %, halfway */
function progress(share: unknown, note: unknown): string | null {
  const parts = [share === null ? null : `${share} %`, note].filter((part) => part !== null);
  return parts.join(', ') || null;
}

function runRow(run: Run) {
  const error = run.error as { message?: string } | null;
  const errorText = error ? (error.message ?? brief(error)) : null;
  const times = [moment(run.started_at), moment(run.ended_at)];
  return [run.id, run.queue, run.attempt, run.state, run.worker, ...times, errorText];
}

function describe(task: Task): string {
  const facts = [
    ['queue', task.queue],
    ['state', task.state],
    ['priority', String(task.priority)],
    ['tenant', task.tenant],
    ['attempt', `${task.attempt} of ${task.max_attempts}, ${task.lost} lost`],
    ['progress', progress(task.progress, task.note)],
    ['created', moment(task.created_at)],
    ['due', moment(task.run_at)],
    ['ended', moment(task.ended_at)],
    ['payload', brief(task.payload)],
    ['result', task.result === null ? null : brief(task.result)],
    ['error', task.error === null ? null : brief(task.error)],
    ['schedule', task.schedule],
    ['rerun of', task.rerun_of],
    ['rerun as', task.reruns.map(({ id }) => id).join(', ') || null],
  ].filter((fact) => fact[1] !== null && fact[1] !== undefined);
  const heading = ['run', 'queue', 'attempt', 'state', 'worker', 'started', 'ended', 'error'];
  const runs = task.runs.length > 0 ? `\n${table([heading, ...task.runs.map(runRow)])}` : '';
  return `${table([['task', task.id], ...facts])}${runs}`;
}

type Flags = { wait?: number; steps?: boolean };

async function showTask(idText: string, options: Options<Flags>) {
  const id = checkedId(idText);
  const { task, steps } = await withApi(options, async (api) => {
    const task = await waitForEnd(api, id, options.wait ?? 0);
    if (!task) throw unknownTask(id);
    if (!options.steps) return { task, steps: null };
    const { steps } = await api.call('GET /v1/tasks/{id}/steps', { path: { id } });
    return { task, steps };
  });
  print(options, { ...task, ...(steps && { steps }) }, () =>
    steps?.length ? `${describe(task)}\n${stepTable(steps)}` : describe(task),
  );
  note(options, steps?.length === 0 && `Task ${id} has saved no step.`);
}

export function addTask(program: Command): void {
  program
    .command('task <id>')
    .description('show a task and all its runs')
    .option('--wait <seconds>', 'wait until it has ended, at most this long', number)
    .option('--steps', 'show its steps too')
    .action((id: string, _options, command: Command) => showTask(id, optionsOf(command)));
}
