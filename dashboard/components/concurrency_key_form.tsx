import { useState } from 'preact/hooks';
import { call, Refused } from '../api.ts';
import { sentences, useNotify } from '../notifications.tsx';
import { useSession } from '../session.tsx';
import type { ConcurrencyKey } from '../types.ts';
import { FormDialog } from './dialog.tsx';
import { errorOf, Field } from './field.tsx';

const fields = [
  ['concurrency_limit', 'Holders at a time'],
  ['concurrency_rate_limit', 'Admissions in the period'],
  ['concurrency_rate_seconds', 'Period in seconds'],
  ['concurrency_rate_burst', 'Admissions at once'],
] as const;

/** Changes the limits of a concurrency key. An emptied field follows the queue again. */
export function ConcurrencyKeyForm({
  queue,
  settings,
  onClose,
  onDone,
}: {
  queue: string;
  settings: ConcurrencyKey;
  onClose(): void;
  onDone(): void;
}) {
  const { key } = useSession();
  const notify = useNotify();
  const [refused, setRefused] = useState<Refused | null>(null);
  const { concurrency_key } = settings;
  const submit = async (data: FormData) => {
    const entered = fields.map(([name]) => {
      const text = String(data.get(name));
      return [name, text === '' ? null : Number(text)] as const;
    });
    const changed = entered.filter(([name, value]) => value !== settings[name]);
    const input = { path: { queue, concurrency_key }, body: Object.fromEntries(changed) };
    try {
      if (changed.length > 0)
        await call(key, 'PATCH /v1/queues/{queue}/concurrency-keys/{concurrency_key}', input);
      notify({ text: `The limits of ${concurrency_key} are set.`, isError: false });
      onClose();
      onDone();
    } catch (error) {
      setRefused(error instanceof Refused ? error : new Refused(0, { detail: String(error) }));
    }
  };
  const isShown = fields.some(([name]) => errorOf(refused, (field) => field === name));
  return (
    <FormDialog
      title={`Limits of ${concurrency_key}`}
      buttonLabel="Save"
      refused={refused && !isShown ? sentences(refused) : null}
      onSubmit={submit}
      onClose={onClose}
    >
      <div class="fields">
        {fields.map(([name, label]) => (
          <Field key={name} label={label} error={errorOf(refused, (field) => field === name)}>
            {(attributes) => (
              <input
                {...attributes}
                name={name}
                type="number"
                placeholder="as the queue"
                defaultValue={settings[name] === null ? '' : String(settings[name])}
              />
            )}
          </Field>
        ))}
      </div>
      <p class="hint">An empty field follows the setting of the queue.</p>
    </FormDialog>
  );
}
