import { Search, Timer } from 'lucide';
import { useEffect, useRef } from 'preact/hooks';
import { pagesFor } from '../pages.ts';
import { type Address, href } from '../route.ts';
import { useSession } from '../session.tsx';
import { ThemeSwitch } from '../theme.tsx';
import { Icon } from './icon.tsx';
import { Installations } from './installations.tsx';
import { PauseSwitch } from './pause_switch.tsx';

const isMac = navigator.platform.startsWith('Mac');

/** The brand, the palette's button, the key and the links to all pages. */
export function Header({ address, openPalette }: { address: Address; openPalette(): void }) {
  const { keyInfo, signOut } = useSession();
  const nav = useRef<HTMLElement>(null);
  const section = address.path[0] === 'queues' ? '' : (address.path[0] ?? '');
  const mayChange = keyInfo.scopes.some((scope) => scope === 'admin' || scope === 'enqueue');
  // On a phone the links scroll sideways, and the present one must be in sight.
  useEffect(() => {
    const present = nav.current?.querySelector<HTMLElement>('[aria-current]');
    if (nav.current && present) nav.current.scrollLeft = present.offsetLeft - 60;
  }, [section]);
  return (
    <header class="top">
      <a class="brand" href="#/">
        <Icon of={Timer} /> Tock
      </a>
      <Installations page={section} />
      <div class="who">
        <button type="button" aria-haspopup="dialog" class="to-palette" onClick={openPalette}>
          <Icon of={Search} /> <span>Go to …</span> <kbd>{isMac ? '⌘' : 'Ctrl'} K</kbd>
        </button>
        <span title={`${keyInfo.prefix}: ${keyInfo.scopes.join(', ')}`}>
          {keyInfo.name}
          {!mayChange && <em> (read only)</em>}
        </span>
        <PauseSwitch />
        <ThemeSwitch />
        <button type="button" class="quiet" onClick={signOut}>
          Sign out
        </button>
      </div>
      <nav aria-label="Pages" ref={nav}>
        {pagesFor(keyInfo).map(({ path, name, icon }) => (
          <a key={path} href={href([path])} aria-current={path === section ? 'page' : undefined}>
            <Icon of={icon} /> {name}
          </a>
        ))}
      </nav>
    </header>
  );
}
