import { useId, useState } from 'preact/hooks';
import { call, Refused } from '../api.ts';
import { useSession } from '../session.tsx';
import { Dialog } from './dialog.tsx';
import { TaskLink } from './state.tsx';

type Props = { queue: string; onClose(): void; onDone(): void };

const example = '{\n  "payload": {"hello": "world"}\n}';

/** A form that adds one task as JSON, and shows a refusal beside the text. A repeated click adds the task only once. */
export function Enqueue({ queue, onClose, onDone }: Props) {
  const { key } = useSession();
  const id = useId();
  const [text, setText] = useState(example);
  const [requestId, setRequestId] = useState(() => crypto.randomUUID());
  const [refused, setRefused] = useState<Refused | null>(null);
  const [ids, setIds] = useState<string[]>([]);

  const submit = async (event: Event) => {
    event.preventDefault();
    setRefused(null);
    try {
      // The text is sent unchanged, so that large numbers keep their digits.
      const input = { path: { queue }, body: text };
      const answer = await call(key, 'POST /v1/queues/{queue}/tasks', input, { requestId });
      setIds(answer.ids);
      setRequestId(crypto.randomUUID());
      onDone();
    } catch (error) {
      setRefused(error instanceof Refused ? error : new Refused(0, { detail: String(error) }));
    }
  };
  const problems = refused?.problem.errors ?? [];
  return (
    <Dialog title={`Enqueue a task to ${queue}`} onClose={onClose}>
      <form onSubmit={submit}>
        <label>
          The task, as JSON
          <textarea
            rows={10}
            spellcheck={false}
            value={text}
            aria-invalid={refused ? 'true' : undefined}
            aria-describedby={`${id}-status`}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <p class="hint">
          Beside payload it may have delay_seconds or run_at, priority (0 to 9), tenant,
          max_attempts, unique_key, concurrency_key, depends_on and more: see the README.
        </p>
        <div id={`${id}-status`} role="alert">
          {refused && (
            <div class="problem">
              <p>
                {refused.message} {refused.problem.hint}
              </p>
              {problems.length > 1 && (
                <ul>
                  {problems.map(({ field, detail }) => (
                    <li key={field}>
                      <code>{field}</code> {detail}
                    </li>
                  ))}
                </ul>
              )}
            </div>
          )}
        </div>
        <div role="status">
          {ids.length > 0 && (
            <p class="good">
              Enqueued:{' '}
              {ids.slice(0, 10).map((taskId) => (
                <span key={taskId}>
                  <TaskLink id={taskId} />{' '}
                </span>
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
