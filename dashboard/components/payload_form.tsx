import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { call, Refused } from '../api.ts';
import { plural, pretty } from '../format.ts';
import { sentences, useNotify } from '../notifications.tsx';
import { useSession } from '../session.tsx';
import { FormDialog } from './dialog.tsx';

type TaskAnswer = Answer<'GET /v1/tasks/{id}'>;
type Closing = { onClose(): void };
type Message = { text: string; isError: boolean };

/** Asks for a payload. `send` gets its text unchanged, so that large numbers keep their digits. */
function PayloadDialog({
  title,
  buttonLabel,
  payload,
  send,
  children,
  onClose,
}: Closing & {
  title: string;
  buttonLabel: string;
  payload?: unknown;
  send(json: string): Promise<Message>;
  children?: ComponentChildren;
}) {
  const notify = useNotify();
  const [text] = useState(() => (payload === undefined ? '' : pretty(payload)));
  const [refused, setRefused] = useState<string | null>(null);
  const submit = async (data: FormData) => {
    const entered = String(data.get('payload')).trim() || 'null';
    try {
      JSON.parse(entered);
      notify(await send(entered));
      onClose();
    } catch (error) {
      if (error instanceof Refused) setRefused(sentences(error));
      else setRefused(`The payload is not JSON: ${(error as Error).message}`);
    }
  };
  const dialog = { title, buttonLabel, refused, onSubmit: submit, onClose };
  return (
    <FormDialog {...dialog}>
      <label>
        Payload, as JSON
        <textarea name="payload" rows={12} spellcheck={false} defaultValue={text} />
      </label>
      {children}
    </FormDialog>
  );
}

/** Changes the payload of a task that has not started. */
export function PayloadForm({
  task: { id, payload },
  ...closing
}: Closing & {
  task: TaskAnswer;
}) {
  const { key } = useSession();
  const send = async (json: string): Promise<Message> => {
    const input = { path: { id }, body: `{"payload":${json}}` };
    const { state, changed } = await call(key, 'PATCH /v1/tasks/{id}', input);
    const text =
      state === 'running'
        ? 'The task has started meanwhile: its next attempt gets the new payload.'
        : 'The payload is changed.';
    return changed ? { text, isError: false } : { text: 'The task has ended.', isError: true };
  };
  const dialog = { title: `The payload of ${id}`, buttonLabel: 'Save', payload, send };
  return <PayloadDialog {...dialog} {...closing} />;
}

/** Gives an event its payload. */
export function SignalForm({ event, ...closing }: Closing & { event: string }) {
  const { key } = useSession();
  const [requestId] = useState(() => crypto.randomUUID());
  const send = async (json: string): Promise<Message> => {
    const body = `{"event":${JSON.stringify(event)},"payload":${json},"request_id":"${requestId}"}`;
    const { accepted, woken } = await call(key, 'POST /v1/events', { body });
    return accepted
      ? { text: `${plural(woken, 'task continues', 'tasks continue')}.`, isError: false }
      : { text: 'The event had a payload before, which stays.', isError: true };
  };
  return (
    <PayloadDialog title={`Signal ${event}`} buttonLabel="Signal" send={send} {...closing}>
      <p class="hint">All tasks that wait for this event get the payload and continue.</p>
    </PayloadDialog>
  );
}
