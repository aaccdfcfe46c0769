import { useRef, useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { useAction } from '../notifications.tsx';
import { useMay } from '../session.tsx';
import { Confirm } from './confirm.tsx';
import { ScheduleForm } from './schedule_form.tsx';

type Schedule = Answer<'GET /v1/schedules'>['schedules'][number];

/** What the key may do with a schedule. */
export function ScheduleActions({
  schedule: { name, queue, state },
  onDelete,
}: {
  schedule: Schedule;
  onDelete?(): void;
}) {
  const may = useMay();
  const action = useAction();
  const [dialog, setDialog] = useState<'edit' | 'delete' | null>(null);
  const path = { schedule: name };
  const close = () => setDialog(null);
  if (!may('admin', queue)) return null;
  // Until a call has succeeded, another click is the same call.
  const runId = useRef(crypto.randomUUID());
  const run = async () => {
    const input = { path, body: { request_id: runId.current } };
    const message = ({ id }: { id: string }) => `${name} has fired: task ${id}.`;
    const done = await action('POST /v1/schedules/{schedule}/run', input, message);
    if (done) runId.current = crypto.randomUUID();
  };
  const pause = async () => {
    await action('POST /v1/schedules/{schedule}/pause', { path }, `${name} is paused.`);
  };
  const resume = async () => {
    await action('POST /v1/schedules/{schedule}/resume', { path }, `${name} is resumed.`);
  };
  const drop = async () => {
    const message = `${name} is deleted.`;
    const done = await action('DELETE /v1/schedules/{schedule}', { path }, message);
    if (done) onDelete?.();
  };
  const button = (text: string, onClick: () => unknown) => (
    <button type="button" onClick={onClick}>
      {text}
      <span class="hidden"> {name}</span>
    </button>
  );
  const opener = (text: string, opens: 'edit' | 'delete', kind = '') => (
    <button type="button" aria-haspopup="dialog" class={kind} onClick={() => setDialog(opens)}>
      {text}
      <span class="hidden"> {name}</span>
    </button>
  );
  return (
    <span class="buttons">
      {opener('Edit', 'edit')}
      {button('Fire now', run)}
      {state === 'paused' ? button('Resume', resume) : button('Pause', pause)}
      {opener('Delete', 'delete', 'danger')}
      {dialog === 'edit' && <ScheduleForm name={name} onClose={close} />}
      {dialog === 'delete' && (
        <Confirm
          danger
          title={`Delete ${name}?`}
          buttonLabel="Delete"
          onConfirm={drop}
          onClose={close}
        >
          <p>It fires no more. The tasks that it has enqueued stay.</p>
        </Confirm>
      )}
    </span>
  );
}
