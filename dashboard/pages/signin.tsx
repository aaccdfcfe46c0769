import { useEffect, useState } from 'preact/hooks';
import { ThemeSwitch } from '../theme.tsx';

type Props = { signIn(key: string): void; why: string | null; trying: boolean };

/** The key stays in this tab: it is sent to this server alone, and gone with the tab. */
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
          Sign in with a key. One with the scope read looks at queues and tasks and touches nothing.
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
          <code>tock key create --scope read dashboard</code> makes one. It is kept in this tab
          only.
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
