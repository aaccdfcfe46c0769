import { useState } from 'preact/hooks';
import { useAction } from '../notifications.tsx';
import { href } from '../route.ts';

type Props = { id: string; label: string; class: 'main' | 'small'; from_step?: string };

/** Reruns a task and shows the new one, with `from_step` one that keeps the steps before it. */
export function RerunButton({ id, label, class: kind, from_step }: Props) {
  const action = useAction();
  // After a success the page shows the new task. So a second click repeats a call whose answer was lost.
  const [request_id] = useState(() => crypto.randomUUID());
  const rerun = async () => {
    const done = await action(
      'POST /v1/tasks/{id}/rerun',
      { path: { id }, body: { request_id, reason: 'from the dashboard', from_step } },
      ({ rerun_id }) => `The task is rerun as ${rerun_id}.`,
    );
    if (done?.rerun_id) location.hash = href(['tasks', done.rerun_id]);
  };
  return (
    <button type="button" class={kind} onClick={rerun}>
      {label}
    </button>
  );
}
