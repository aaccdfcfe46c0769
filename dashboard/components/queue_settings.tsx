import { useEffect, useRef, useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { call, Refused } from '../api.ts';
import { pretty } from '../format.ts';
import { sentences, useNotify } from '../notifications.tsx';
import { usePolling } from '../polling.ts';
import { useMay, useSession } from '../session.tsx';
import { settingsOf, withUnit } from '../settings.ts';
import { Explained } from './explained.tsx';
import { Panel } from './panel.tsx';

type Policy = Answer<'GET /v1/queues/{queue}'>;

function shown(name: string, value: unknown): string {
  if (value === null) return 'not set';
  if (typeof value === 'number') return withUnit(name, value);
  return typeof value === 'object' ? pretty(value) : String(value);
}

/** A value as it is typed: words without quotes, everything else as JSON; nothing for null. */
const toText = (value: unknown) =>
  value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);

function parse(text: string): unknown {
  if (text.trim() === '') return null;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

type SettingProps = {
  queue: string;
  name: string;
  explanation: string;
  value: unknown;
  standard: unknown;
};

function Editor({ queue, name, value, close }: SettingProps & { close(): void }) {
  const { key } = useSession();
  const [text, setText] = useState(toText(value));
  const [refused, setRefused] = useState<Refused | null>(null);
  const notify = useNotify();
  const input = useRef<HTMLInputElement>(null);
  // The attribute autofocus works only while the page loads.
  useEffect(() => input.current?.select(), []);
  const save = async (event: Event) => {
    event.preventDefault();
    try {
      const body = JSON.stringify({ [name]: parse(text) });
      await call(key, 'PUT /v1/queues/{queue}', { path: { queue }, body });
      close();
      notify({ text: `${name} of ${queue} is ${text.trim() || 'not set'}.`, isError: false });
    } catch (error) {
      setRefused(error instanceof Refused ? error : new Refused(0, { detail: String(error) }));
    }
  };
  return (
    <form class="setting" onSubmit={save}>
      <input
        aria-label={name}
        value={text}
        placeholder="not set"
        spellcheck={false}
        ref={input}
        aria-invalid={refused ? 'true' : undefined}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && close()}
      />
      <button type="submit" class="main">
        Save
      </button>
      <button type="button" onClick={close}>
        Cancel
      </button>
      {refused && (
        <p class="problem" role="alert">
          {sentences(refused)}
        </p>
      )}
    </form>
  );
}

function Setting(props: SettingProps) {
  const { queue, name, explanation, value, standard } = props;
  const may = useMay();
  const [editing, setEditing] = useState(false);
  const edit = useRef<HTMLButtonElement>(null);
  const wasEditing = useRef(false);
  useEffect(() => {
    if (wasEditing.current && !editing) edit.current?.focus();
    wasEditing.current = editing;
  }, [editing]);
  const differs = standard !== undefined && JSON.stringify(standard) !== JSON.stringify(value);
  return (
    <div>
      <dt>
        <Explained text={explanation}>{name}</Explained>
      </dt>
      <dd>
        {editing ? (
          <Editor {...props} close={() => setEditing(false)} />
        ) : (
          <>
            <span class={differs ? 'changed' : ''}>{shown(name, value)}</span>{' '}
            {may('admin', queue) && (
              <button ref={edit} type="button" class="edit" onClick={() => setEditing(true)}>
                Edit<span class="hidden"> {name}</span>
              </button>
            )}
            {differs && <small class="hint">default: {shown(name, standard)}</small>}
          </>
        )}
      </dd>
    </div>
  );
}

/** The settings of a queue. Those that differ from the default are marked; an administrator edits them in place. */
export function QueueSettings({ queue, policy }: { queue: string; policy: Policy }) {
  // A key for some queues may not read the default.
  const standard = usePolling('GET /v1/queues/{queue}', { path: { queue: '*' } }, 60_000).data as
    | Record<string, unknown>
    | undefined;
  return (
    <Panel title="Settings">
      <dl class="facts">
        {settingsOf(policy).map((setting) => (
          <Setting
            key={setting.name}
            queue={queue}
            {...setting}
            standard={standard?.[setting.name]}
          />
        ))}
      </dl>
    </Panel>
  );
}
