import { useCallback, useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks';
import { call, Refused } from './api.ts';
import { Header } from './components/header.tsx';
import { Palette } from './components/palette.tsx';
import { Shortcuts } from './components/shortcuts.tsx';
import { keepFocus } from './focus.ts';
import { useKeyboard } from './keyboard.ts';
import { NotificationProvider } from './notifications.tsx';
import { AuditLog } from './pages/audit_log.tsx';
import { BulkChanges } from './pages/bulk_changes.tsx';
import { ConcurrencyKeys } from './pages/concurrency_keys.tsx';
import { Groups } from './pages/groups.tsx';
import { Keys } from './pages/keys.tsx';
import { Overview } from './pages/overview.tsx';
import { Pools } from './pages/pools.tsx';
import { Queue } from './pages/queue.tsx';
import { Schedule } from './pages/schedule.tsx';
import { Schedules } from './pages/schedules.tsx';
import { SignIn } from './pages/signin.tsx';
import { System } from './pages/system.tsx';
import { Task } from './pages/task.tsx';
import { Tasks } from './pages/tasks.tsx';
import { Workers } from './pages/workers.tsx';
import { pagesFor } from './pages.ts';
import { type Address, useAddress } from './route.ts';
import { type Session, SessionProvider, storedKey, storeKey } from './session.tsx';
import type { KeyInfo } from './types.ts';

function Page({ address }: { address: Address }) {
  const [first = '', second] = address.path;
  if (first === '') return <Overview address={address} />;
  if (first === 'queues' && second) return <Queue key={second} queue={second} address={address} />;
  if (first === 'tasks' && second) return <Task key={second} id={second} address={address} />;
  if (first === 'tasks') return <Tasks address={address} />;
  if (first === 'groups') return <Groups address={address} />;
  if (first === 'bulk_changes') return <BulkChanges address={address} />;
  if (first === 'workers') return <Workers address={address} />;
  if (first === 'schedules' && second) return <Schedule key={second} name={second} />;
  if (first === 'schedules') return <Schedules address={address} />;
  if (first === 'concurrency_keys') return <ConcurrencyKeys address={address} />;
  if (first === 'pools') return <Pools pool={second} />;
  if (first === 'system') return <System />;
  if (first === 'keys') return <Keys />;
  if (first === 'audit_log') return <AuditLog address={address} />;
  return (
    <>
      <h1 tabIndex={-1}>This page does not exist</h1>
      <p>
        <a href="#/">Go to the overview</a>
      </p>
    </>
  );
}

/** Catches the error of a page, so that the other pages still work. */
function Guarded({ address }: { address: Address }) {
  const [error, reset] = useErrorBoundary((thrown) => console.error(thrown));
  const failed = useRef<Address | null>(null);
  useEffect(() => {
    if (error && failed.current && failed.current !== address) reset();
    failed.current = error ? address : null;
  }, [address, error]);
  if (!error) return <Page address={address} />;
  return (
    <>
      <h1 tabIndex={-1}>This page failed</h1>
      <p class="problem">{String(error)}</p>
    </>
  );
}

/** After a click on a link, focus moves to the page's heading, where screen readers continue. */
function useArrival(address: Address): void {
  // The page of a worker is the list of workers with a filter.
  const path = [...address.path, address.query.get('worker')].join('/');
  const first = useRef(true);
  useEffect(() => {
    const heading = document.querySelector('h1');
    document.title = `${heading?.textContent ?? 'Tock'} · Tock`;
    if (!first.current) heading?.focus();
    first.current = false;
  }, [path]);
}

function Frame({ session }: { session: Session }) {
  const address = useAddress();
  const [open, setOpen] = useState<'palette' | 'help' | null>(null);
  const { keyInfo } = session;
  const close = () => setOpen(null);
  const openPalette = () => setOpen('palette');
  const openHelp = () => setOpen('help');
  const pathOf = (key: string) => pagesFor(keyInfo).find(({ letter }) => letter === key)?.path;
  useArrival(address);
  useEffect(keepFocus, []);
  useKeyboard({ pathOf, openPalette, openHelp });
  return (
    <>
      <button type="button" class="skip" onClick={() => document.querySelector('h1')?.focus()}>
        Skip to the content
      </button>
      <Header address={address} openPalette={openPalette} />
      <NotificationProvider>
        <main id="main">
          <Guarded address={address} />
        </main>
      </NotificationProvider>
      {open === 'palette' && <Palette onClose={close} openHelp={openHelp} />}
      {open === 'help' && <Shortcuts onClose={close} />}
    </>
  );
}

/** After this time the page calls a server again that did not answer. */
const RETRY_MS = 3000;

export function App() {
  const [signed, setSigned] = useState<{ key: string; keyInfo: KeyInfo } | null>(null);
  const [why, setWhy] = useState<string | null>(null);
  const [trying, setTrying] = useState(storedKey() !== null);

  const leave = useCallback((reason: string | null) => {
    storeKey(null);
    setSigned(null);
    setWhy(reason);
  }, []);
  const signOut = useCallback(() => leave(null), [leave]);
  const refused = useCallback(
    () => leave('The key is no longer valid: it was revoked, or it has expired.'),
    [leave],
  );

  const signIn = useCallback(async (key: string) => {
    setWhy(null);
    setTrying(true);
    try {
      // Such a key cannot be sent in a header.
      if (!/^[\x21-\x7e]+$/.test(key)) throw new Refused(401, {});
      const keyInfo = await call(key, 'GET /v1/key', {});
      storeKey(key);
      setSigned({ key, keyInfo });
    } catch (error) {
      const refusal = error instanceof Refused ? error : null;
      if (refusal?.status === 401) storeKey(null);
      // The tab's stored key is valid and stays.
      else if (key === storedKey()) setTimeout(() => void signIn(key), RETRY_MS);
      setWhy(
        refusal?.status === 401
          ? 'Tock does not know this key.'
          : (refusal?.message ?? String(error)),
      );
    } finally {
      setTrying(false);
    }
  }, []);

  useEffect(() => {
    const key = storedKey();
    if (key) void signIn(key);
  }, [signIn]);

  if (!signed) return <SignIn signIn={signIn} why={why} trying={trying} />;
  const session = { ...signed, refused, signOut };
  return (
    <SessionProvider value={session}>
      <Frame session={session} />
    </SessionProvider>
  );
}
