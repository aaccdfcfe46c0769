import { useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { call, Refused } from '../api.ts';
import { pretty } from '../format.ts';
import { sentences, useNotify } from '../notifications.tsx';
import { useSession } from '../session.tsx';
import { FormDialog } from './dialog.tsx';

type TaskAnswer = Answer<'GET /v1/tasks/{id}'>;

/** Changes the payload of a task that has not started. */
export function PayloadForm({
  task: { id, payload },
  onClose,
  onDone,
}: {
  task: TaskAnswer;
  onClose(): void;
  onDone(): void;
}) {
  const { key } = useSession();
  const notify = useNotify();
  const [text] = useState(() => pretty(payload));
  const [refused, setRefused] = useState<string | null>(null);
  const submit = async (data: FormData) => {
    const entered = String(data.get('payload')).trim() || 'null';
    try {
      JSON.parse(entered);
      // The text is sent unchanged, so that large numbers keep their digits.
      const input = { path: { id }, body: `{"payload":${entered}}` };
      const { state, changed } = await call(key, 'PATCH /v1/tasks/{id}', input);
      const text =
        state === 'running'
          ? 'The task has started meanwhile: its next attempt gets the new payload.'
          : 'The payload is changed.';
      notify(changed ? { text, isError: false } : { text: 'The task has ended.', isError: true });
      onClose();
      onDone();
    } catch (error) {
      if (error instanceof Refused) setRefused(sentences(error));
      else setRefused(`The payload is not JSON: ${(error as Error).message}`);
    }
  };
  return (
    <FormDialog
      title={`The payload of ${id}`}
      buttonLabel="Save"
      refused={refused}
      onSubmit={submit}
      onClose={onClose}
    >
      <label>
        Payload, as JSON
        <textarea name="payload" rows={12} spellcheck={false} defaultValue={text} />
      </label>
    </FormDialog>
  );
}
