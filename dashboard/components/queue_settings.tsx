import { useEffect, useRef, useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { call, Refused } from '../api.ts';
import { pretty } from '../format.ts';
import { sentences, useNotify } from '../notifications.tsx';
import { usePolling } from '../polling.ts';
import { href, parseHash } from '../route.ts';
import { useMay, useSession } from '../session.tsx';
import { isOptional, settingsOf, withUnit } from '../settings.ts';
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
  /** True if the address names the setting, so that it is edited. */
  wanted: boolean;
};

/** Takes the setting out of the address. */
function leave() {
  const { path, query } = parseHash(location.hash);
  const { setting, ...others } = Object.fromEntries(query);
  if (setting) location.replace(href(path, others));
}

function Editor({ queue, name, value, close }: SettingProps & { close(): void }) {
  const { key } = useSession();
  const [text, setText] = useState(toText(value));
  const [refused, setRefused] = useState<Refused | null>(null);
  const notify = useNotify();
  const input = useRef<HTMLInputElement>(null);
  // The attribute autofocus works only while the page loads.
  useEffect(() => {
    input.current?.select();
    input.current?.scrollIntoView({ block: 'center' });
  }, []);
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
        placeholder={isOptional(name) ? 'not set' : ''}
        aria-describedby={isOptional(name) ? `${name}-empty` : undefined}
        spellcheck={false}
        ref={input}
        aria-invalid={refused ? 'true' : undefined}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => event.key === 'Escape' && close()}
      />
      {isOptional(name) && (
        <small class="hint" id={`${name}-empty`}>
          Empty: not set
        </small>
      )}
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
  const { queue, name, explanation, value, standard, wanted } = props;
  const may = useMay();
  const [opened, setOpened] = useState(false);
  const editing = opened || (wanted && may('admin', queue));
  const close = () => {
    setOpened(false);
    if (wanted) leave();
  };
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
          <Editor {...props} close={close} />
        ) : (
          <>
            <span class={differs ? 'changed' : ''}>{shown(name, value)}</span>{' '}
            {may('admin', queue) && (
              <button ref={edit} type="button" class="edit" onClick={() => setOpened(true)}>
                Edit<span class="hidden"> {name}</span>
              </button>
            )}
            {differs && <small class="hint">new queues: {shown(name, standard)}</small>}
          </>
        )}
      </dd>
    </div>
  );
}

/** The settings of a queue. Those that differ from the ones of a new queue are marked; an administrator edits them in place. */
export function QueueSettings({
  queue,
  policy,
  edited,
}: {
  queue: string;
  policy: Policy;
  /** The setting that the address asks to edit. */
  edited: string | null;
}) {
  // A key for some queues may not read the default.
  const standard = usePolling('GET /v1/queues/{queue}', { path: { queue: '*' } }, 60_000).data as
    | Record<string, unknown>
    | undefined;
  return (
    <Panel title="Settings">
      <p class="hint">
        A new queue gets a copy of the default settings. A later change of these changes no queue.
      </p>
      <dl class="facts">
        {settingsOf(policy).map((setting) => (
          <Setting
            key={setting.name}
            queue={queue}
            {...setting}
            standard={standard?.[setting.name]}
            wanted={setting.name === edited}
          />
        ))}
      </dl>
    </Panel>
  );
}
