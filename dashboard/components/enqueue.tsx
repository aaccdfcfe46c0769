import { useRef, useState } from 'preact/hooks';
import { parseLossless } from '../../client/lossless_json.ts';
import type { Answer } from '../../client/wire.ts';
import { call, Refused } from '../api.ts';
import { pretty } from '../format.ts';
import { sentences } from '../notifications.tsx';
import { useSession } from '../session.tsx';
import { Dialog } from './dialog.tsx';
import { errorOf, Field } from './field.tsx';
import { TaskLink } from './state.tsx';

type TaskAnswer = Answer<'GET /v1/tasks/{id}'>;

const texts = [
  ['tenant', 'Tenant'],
  ['max_attempts', 'Maximum of attempts'],
  ['unique_key', 'Unique key'],
  ['concurrency_key', 'Concurrency key'],
] as const;
const named: string[] = [
  ...texts.map(([name]) => name),
  'payload',
  'priority',
  'delay_seconds',
  'run_at',
];

/** Options that a copy has too. As with a rerun, its unique key and its parents are not among them. */
const copied = ['timeout_seconds', 'backoff', 'headers', 'push_url', 'pipeline', 'parent'];

type Draft = Record<'payload' | 'options' | 'priority' | (typeof texts)[number][0], string>;

const empty: Draft = {
  payload: '{"hello": "world"}',
  options: '',
  priority: '',
  tenant: '',
  max_attempts: '',
  unique_key: '',
  concurrency_key: '',
};

function draftOf(task: TaskAnswer, isForTenants: boolean): Draft {
  const options = task.options ?? {};
  const others = Object.entries(options).filter(
    ([name, value]) =>
      copied.includes(name) || (name === 'expires_at' && Date.parse(String(value)) > Date.now()),
  );
  // A key for tenants adds this part by itself.
  const scope = `tenant:${task.tenant?.replaceAll('~', '~0').replaceAll('/', '~1')}/`;
  const stored = String(options.concurrency_key ?? '');
  const key = isForTenants && stored.startsWith(scope) ? stored.slice(scope.length) : stored;
  return {
    ...empty,
    payload: pretty(task.payload),
    options: others.length > 0 ? pretty(Object.fromEntries(others)) : '',
    priority: String(task.priority),
    tenant: task.tenant ?? '',
    max_attempts: String(task.max_attempts),
    // Tock itself makes such keys, for on_conflict rerun.
    concurrency_key: key.startsWith('key:') ? '' : key,
  };
}

const invalid = (field: string, detail: string) => new Refused(422, { field, detail });

/** Numbers as numbers. Other text is sent unchanged, so that the server says what it allows. */
const numeric = (text: string) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);

/** The body of the call. The text of the payload is sent unchanged, so that large numbers keep their digits. */
function bodyOf(data: FormData): string {
  const field = (name: string) => String(data.get(name) ?? '').trim();
  const payload = field('payload') || 'null';
  try {
    JSON.parse(payload);
  } catch (error) {
    throw invalid('payload', `The payload is not JSON: ${(error as Error).message}`);
  }
  let options: unknown;
  try {
    options = parseLossless(field('options') || '{}');
  } catch (error) {
    throw invalid('options', `The further options are not JSON: ${(error as Error).message}`);
  }
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw invalid('options', 'The further options must be an object, like {"timeout_seconds": 60}');
  const given = (names: string[], convert: (text: string) => unknown) =>
    names.filter((name) => field(name) !== '').map((name) => [name, convert(field(name))]);
  const chosen = Object.fromEntries([
    ...given(['tenant', 'unique_key', 'concurrency_key'], String),
    ...given(['priority', 'max_attempts', 'delay_seconds'], numeric),
    ...given(['run_at'], (text) => new Date(text).toISOString()),
  ]);
  const rest = JSON.stringify({ ...options, ...chosen }).slice(1, -1);
  return `{${rest}${rest && ','}"payload":${payload}}`;
}

type Props = { queue: string; task?: TaskAnswer; onClose(): void };

/** A form that adds one task, new or as a copy of another. A repeated click adds the task only once. */
export function Enqueue({ queue, task, onClose }: Props) {
  const { key, keyInfo } = useSession();
  const [draft] = useState(() => (task ? draftOf(task, keyInfo.tenants !== null) : empty));
  const [due, setDue] = useState('now');
  const [refused, setRefused] = useState<Refused | null>(null);
  const [ids, setIds] = useState<string[]>([]);
  // The call whose answer was lost has the same id when it is repeated; a changed task is another call.
  const sent = useRef({ text: '', requestId: '' });

  const submit = async (event: Event) => {
    event.preventDefault();
    setRefused(null);
    const data = new FormData(event.currentTarget as HTMLFormElement);
    try {
      const input = { path: { queue: String(data.get('queue')).trim() }, body: bodyOf(data) };
      const text = JSON.stringify(input);
      if (sent.current.text !== text) sent.current = { text, requestId: crypto.randomUUID() };
      const { requestId } = sent.current;
      const answer = await call(key, 'POST /v1/queues/{queue}/tasks', input, { requestId });
      setIds(answer.ids);
      sent.current = { text: '', requestId: '' };
    } catch (error) {
      setRefused(error instanceof Refused ? error : new Refused(0, { detail: String(error) }));
    }
  };
  const errorFor = (name: string) => errorOf(refused, (field) => field === name);
  return (
    <Dialog title={task ? `Enqueue a copy of ${task.id}` : `Enqueue to ${queue}`} onClose={onClose}>
      <form onSubmit={submit}>
        {task && (
          <p class="hint">
            The copy is a new task, without the unique key and the parents of the old one.
          </p>
        )}
        <Field label="Payload, as JSON" error={errorFor('payload')}>
          {(attributes) => (
            <textarea
              name="payload"
              rows={6}
              spellcheck={false}
              defaultValue={draft.payload}
              {...attributes}
            />
          )}
        </Field>
        <div class="fields">
          <Field label="Queue" error={errorFor('queue')}>
            {(attributes) => <input name="queue" required defaultValue={queue} {...attributes} />}
          </Field>
          <Field label="Priority" error={errorFor('priority')}>
            {(attributes) => (
              <select name="priority" {...attributes}>
                <option value="">default</option>
                {[...'0123456789'].map((n) => (
                  <option key={n} value={n} selected={n === draft.priority}>
                    {n}
                  </option>
                ))}
              </select>
            )}
          </Field>
          <Field label="Due" error={null}>
            {(attributes) => (
              <select
                value={due}
                onChange={({ currentTarget }) => setDue(currentTarget.value)}
                {...attributes}
              >
                <option value="now">now</option>
                <option value="delay">after some seconds</option>
                <option value="at">at a time</option>
              </select>
            )}
          </Field>
          {due === 'delay' && (
            <Field label="Seconds" error={errorFor('delay_seconds')}>
              {(attributes) => (
                <input
                  name="delay_seconds"
                  required
                  inputMode="decimal"
                  defaultValue="60"
                  {...attributes}
                />
              )}
            </Field>
          )}
          {due === 'at' && (
            <Field label="At, in this browser's time zone" error={errorFor('run_at')}>
              {(attributes) => (
                <input name="run_at" required type="datetime-local" {...attributes} />
              )}
            </Field>
          )}
          {texts.map(([name, label]) => (
            <Field key={name} label={label} error={errorFor(name)}>
              {(attributes) => (
                <input
                  name={name}
                  autocomplete="off"
                  spellcheck={false}
                  defaultValue={draft[name]}
                  {...attributes}
                />
              )}
            </Field>
          ))}
        </div>
        <Field
          label="Further options, as JSON"
          error={errorOf(refused, (field) => field !== 'queue' && !named.includes(field))}
        >
          {(attributes) => (
            <textarea
              name="options"
              rows={draft.options ? 4 : 1}
              spellcheck={false}
              placeholder={'{"timeout_seconds": 60, "depends_on": ["1048577"]}'}
              defaultValue={draft.options}
              {...attributes}
            />
          )}
        </Field>
        <div role="alert">{refused && <p class="problem">{sentences(refused)}</p>}</div>
        <div role="status">
          {ids.length > 0 && (
            <p class="good">
              Enqueued:{' '}
              {ids.map((id) => (
                <TaskLink key={id} id={id} />
              ))}
            </p>
          )}
        </div>
        <p class="buttons">
          <button type="button" onClick={onClose}>
            Close
          </button>
          <button type="submit" class="main">
            Enqueue
          </button>
        </p>
      </form>
    </Dialog>
  );
}
