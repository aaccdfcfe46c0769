import { useState } from 'preact/hooks';

const NAME = 'tock-theme';
const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];

function apply(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event('tock-theme'));
}

function stored(): Theme {
  const theme = localStorage.getItem(NAME) as Theme;
  return themes.includes(theme) ? theme : 'system';
}
apply(stored());

/** The theme: light, dark, or that of the system. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState(stored());
  return (
    <label class="theme">
      <span class="hidden">Colours</span>
      <select
        value={theme}
        onChange={({ currentTarget }) => {
          const next = currentTarget.value as Theme;
          localStorage.setItem(NAME, next);
          setTheme(next);
          apply(next);
        }}
      >
        <option value="system">Auto</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
    </label>
  );
}
