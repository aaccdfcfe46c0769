import { useId, useState } from 'preact/hooks';
import { call, Refused } from '../api.ts';
import { sentences } from '../notifications.tsx';
import { useSession } from '../session.tsx';
import { FormDialog } from './dialog.tsx';

const scopes = [
  ['enqueue', 'adds, changes, cancels and reruns tasks'],
  ['claim', 'takes tasks and ends them, as a worker does'],
  ['read', 'sees everything but keys and the audit log'],
  ['admin', 'changes settings, schedules and keys, and sees the audit log'],
] as const;
const DAY = 86_400;

/** Words separated by commas; null if there are none. */
const listOf = (text: string) => {
  const words = text.split(',').map((word) => word.trim());
  const named = words.filter((word) => word !== '');
  return named.length > 0 ? named : null;
};

/** A form that creates a key. */
export function NewKey({ onClose, onMade }: { onClose(): void; onMade(secret: string): void }) {
  const { key } = useSession();
  const id = useId();
  const [refused, setRefused] = useState<string | null>(null);
  const [lacksScope, setLacksScope] = useState(false);
  const submit = async (data: FormData) => {
    const chosen = data.getAll('scope').map(String);
    setLacksScope(chosen.length === 0);
    setRefused(null);
    if (chosen.length === 0) return;
    const days = Number(data.get('days'));
    const body = {
      name: String(data.get('name')),
      scopes: chosen,
      queues: listOf(String(data.get('queues'))),
      tenants: listOf(String(data.get('tenants'))),
      ...(days > 0 && { expires_in_seconds: days * DAY }),
    };
    try {
      onMade((await call(key, 'POST /v1/keys', { body })).key);
      onClose();
    } catch (error) {
      setRefused(error instanceof Refused ? sentences(error) : String(error));
    }
  };
  return (
    <FormDialog
      title="New key"
      buttonLabel="Create"
      refused={refused}
      onSubmit={submit}
      onClose={onClose}
    >
      <label>
        Name
        <input name="name" required />
      </label>
      <fieldset aria-describedby={lacksScope ? `${id}-scopes` : undefined}>
        <legend>It may</legend>
        {scopes.map(([scope, meaning]) => (
          <label key={scope} class="check">
            <input type="checkbox" name="scope" value={scope} />
            <span>
              <strong>{scope}</strong> {meaning}
            </span>
          </label>
        ))}
        <div role="alert">
          {lacksScope && (
            <p class="problem" id={`${id}-scopes`}>
              Tick at least one.
            </p>
          )}
        </div>
      </fieldset>
      <label>
        Queues, separated by commas (empty: all)
        <input name="queues" />
      </label>
      <label>
        Tenants, separated by commas (empty: all)
        <input name="tenants" />
      </label>
      <label>
        Ends after days (empty: never)
        <input name="days" type="number" min="1" />
      </label>
    </FormDialog>
  );
}
