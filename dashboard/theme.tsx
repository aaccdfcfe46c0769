import { useLayoutEffect, useState } from 'preact/hooks';

const NAME = 'tock-theme';
const CHANGED = 'tock-theme';
export const themes = ['system', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];
export const themeNames: Record<Theme, string> = { system: 'Auto', light: 'Light', dark: 'Dark' };

function apply(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event(CHANGED));
}

function stored(): Theme {
  const theme = localStorage.getItem(NAME) as Theme;
  return themes.includes(theme) ? theme : 'system';
}
apply(stored());

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(NAME, theme);
  apply(theme);
}

/** The theme: light, dark, or that of the system. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState(stored());
  useLayoutEffect(() => {
    const onChange = () => setTheme(stored());
    addEventListener(CHANGED, onChange);
    return () => removeEventListener(CHANGED, onChange);
  }, []);
  return (
    <label class="theme">
      <span class="hidden">Colours</span>
      <select
        value={theme}
        onChange={({ currentTarget }) => chooseTheme(currentTarget.value as Theme)}
      >
        {themes.map((name) => (
          <option key={name} value={name}>
            {themeNames[name]}
          </option>
        ))}
      </select>
    </label>
  );
}
