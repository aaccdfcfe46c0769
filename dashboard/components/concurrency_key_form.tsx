import { useState } from 'preact/hooks';
import { call, Refused } from '../api.ts';
import { count } from '../format.ts';
import { sentences, useNotify } from '../notifications.tsx';
import { usePolling } from '../polling.ts';
import { useSession } from '../session.tsx';
import type { ConcurrencyKey } from '../types.ts';
import { FormDialog, LoadingDialog } from './dialog.tsx';
import { errorOf, Field } from './field.tsx';

const fields = [
  ['concurrency_limit', 'Holders at a time'],
  ['concurrency_rate_limit', 'Tasks admitted in a period'],
  ['concurrency_rate_seconds', 'Period in seconds'],
  ['concurrency_rate_burst', 'Tasks admitted at once'],
] as const;
type Limits = Pick<ConcurrencyKey, (typeof fields)[number][0]>;

/** The limits that empty fields stand for. A key that Tock makes for on_conflict rerun admits one task. */
const limitsOf = (policy: Limits, concurrency_key: string): Limits =>
  concurrency_key.startsWith('key:')
    ? { ...policy, concurrency_limit: 1, concurrency_rate_limit: null }
    : policy;

function placeholder(name: keyof Limits, inherited: Limits): string {
  const value = inherited[name];
  if (value !== null) return `${count(value)}, as the queue`;
  return name === 'concurrency_rate_burst' ? 'as many as in a period' : 'no limit';
}

type Props = { queue: string; settings: ConcurrencyKey; onClose(): void };

/** Changes the limits of a concurrency key. An emptied field follows the queue again. */
export function ConcurrencyKeyForm(props: Props) {
  const { concurrency_key } = props.settings;
  const polled = usePolling('GET /v1/queues/{queue}', { path: { queue: props.queue } }, 60_000);
  return polled.data ? (
    <Form {...props} inherited={limitsOf(polled.data, concurrency_key)} />
  ) : (
    <LoadingDialog title={`Limits of ${concurrency_key}`} polled={polled} onClose={props.onClose} />
  );
}

function Form({ queue, settings, inherited, onClose }: Props & { inherited: Limits }) {
  const { key } = useSession();
  const notify = useNotify();
  const [refused, setRefused] = useState<Refused | null>(null);
  const { concurrency_key } = settings;
  const own = (name: keyof Limits) =>
    settings.own_settings.includes(name) ? settings[name] : null;
  const submit = async (data: FormData) => {
    const entered = fields.map(([name]) => {
      const text = String(data.get(name));
      return [name, text === '' ? null : Number(text)] as const;
    });
    const changed = entered.filter(([name, value]) => value !== own(name));
    const input = { path: { queue, concurrency_key }, body: Object.fromEntries(changed) };
    try {
      if (changed.length > 0)
        await call(key, 'PATCH /v1/queues/{queue}/concurrency-keys/{concurrency_key}', input);
      notify({ text: `The limits of ${concurrency_key} are set.`, isError: false });
      onClose();
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
                placeholder={placeholder(name, inherited)}
                defaultValue={String(own(name) ?? '')}
              />
            )}
          </Field>
        ))}
      </div>
      <p class="hint">
        A task is admitted when it gets the key, and holds it until it has ended. A key that was
        quiet admits several at once. An empty field follows the setting of the queue.
      </p>
    </FormDialog>
  );
}
