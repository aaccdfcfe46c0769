import { useEffect, useState } from 'preact/hooks';
import { ThemeSwitch } from '../theme.tsx';

type Props = { signIn(key: string): void; why: string | null; trying: boolean };

/** The form that asks for a key. The key is sent only to this server, and deleted when the tab closes. */
export function SignIn({ signIn, why, trying }: Props) {
  const [key, setKey] = useState('');
  useEffect(() => {
    document.title = 'Tock';
  }, []);
  return (
    <main class="signin" id="main">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim()) signIn(key.trim());
        }}
      >
        <h1 tabIndex={-1}>Tock</h1>
        <p>
          Sign in with a key. A key with the scope read can list queues and tasks and change
          nothing.
        </p>
        <label>
          Key
          <input
            type="password"
            name="key"
            value={key}
            autocomplete="off"
            spellcheck={false}
            aria-describedby="key-help"
            aria-invalid={why ? 'true' : undefined}
            onInput={({ currentTarget }) => setKey(currentTarget.value)}
          />
        </label>
        <p id="key-help" class="hint">
          <code>tock key create --scope read dashboard</code> creates one. It is stored only in this
          tab.
        </p>
        <div role="alert">{why && <p class="problem">{why}</p>}</div>
        <p class="buttons">
          <ThemeSwitch />
          <button type="submit" class="main" disabled={trying}>
            {trying ? 'Looking …' : 'Sign in'}
          </button>
        </p>
      </form>
    </main>
  );
}
