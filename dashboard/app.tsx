import { useCallback, useEffect, useErrorBoundary, useRef, useState } from 'preact/hooks';
import { call, Refused } from './api.ts';
import { Overview } from './pages/overview.tsx';
import { Queue } from './pages/queue.tsx';
import { Schedules } from './pages/schedules.tsx';
import { SignIn } from './pages/signin.tsx';
import { System } from './pages/system.tsx';
import { Task } from './pages/task.tsx';
import { Tasks } from './pages/tasks.tsx';
import { ConcurrencyKeys, Leases, Pools } from './pages/together.tsx';
import { href, type Place, usePlace } from './route.ts';
import { SayProvider } from './say.tsx';
import { type Session, SessionProvider, storedKey, storeKey } from './session.tsx';
import { ThemeSwitch } from './theme.tsx';
import type { Who } from './types.ts';

/** Those with `all` look at every queue and tenant. */
const pages = [
  { path: '', name: 'Overview' },
  { path: 'tasks', name: 'Tasks' },
  { path: 'leases', name: 'Leases', all: true },
  { path: 'schedules', name: 'Schedules', all: true },
  { path: 'concurrency_keys', name: 'ConcurrencyKeys' },
  { path: 'pools', name: 'Pools', all: true },
  { path: 'system', name: 'System', all: true },
];

function Page({ place }: { place: Place }) {
  const [first = '', second] = place.path;
  if (first === '') return <Overview />;
  if (first === 'queues' && second) return <Queue key={second} queue={second} place={place} />;
  if (first === 'tasks' && second) return <Task key={second} id={second} />;
  if (first === 'tasks') return <Tasks place={place} />;
  if (first === 'leases') return <Leases place={place} />;
  if (first === 'schedules') return <Schedules />;
  if (first === 'concurrency_keys') return <ConcurrencyKeys place={place} />;
  if (first === 'pools') return <Pools pool={second} />;
  if (first === 'system') return <System />;
  return (
    <>
      <h1 tabIndex={-1}>There is no such page</h1>
      <p>
        <a href="#/">Go to the overview</a>
      </p>
    </>
  );
}

/** A page that fails takes no other with it: the next one is shown. */
function Guarded({ place }: { place: Place }) {
  const [error, reset] = useErrorBoundary((thrown) => console.error(thrown));
  const failed = useRef<Place | null>(null);
  useEffect(() => {
    if (error && failed.current && failed.current !== place) reset();
    failed.current = error ? place : null;
  }, [place, error]);
  if (!error) return <Page place={place} />;
  return (
    <>
      <h1 tabIndex={-1}>This page failed</h1>
      <p class="problem">{String(error)}</p>
    </>
  );
}

/** After a click on a link the focus is on the page's heading, so that its reading begins there. */
function useArrival(place: Place): void {
  const path = place.path.join('/');
  const first = useRef(true);
  useEffect(() => {
    const heading = document.querySelector('h1');
    document.title = `${heading?.textContent ?? 'Tock'} · Tock`;
    if (!first.current) heading?.focus();
    first.current = false;
  }, [path]);
}

function Frame({ session }: { session: Session }) {
  const place = usePlace();
  useArrival(place);
  const { who } = session;
  const here = place.path[0] === 'queues' ? '' : (place.path[0] ?? '');
  const offered = pages.filter(({ all }) => !all || (who.queues ?? who.tenants) === null);
  const touches = who.scopes.some((scope) => scope === 'admin' || scope === 'enqueue');
  return (
    <>
      <button type="button" class="skip" onClick={() => document.querySelector('h1')?.focus()}>
        Skip to the content
      </button>
      <header class="top">
        <a class="brand" href="#/">
          Tock
        </a>
        <nav aria-label="Pages">
          {offered.map(({ path, name }) => (
            <a key={path} href={href([path])} aria-current={path === here ? 'page' : undefined}>
              {name}
            </a>
          ))}
        </nav>
        <div class="who">
          <span title={`${who.prefix}: ${who.scopes.join(', ')}`}>
            {who.name}
            {!touches && <em> (read only)</em>}
          </span>
          <ThemeSwitch />
          <button type="button" class="quiet" onClick={session.signOut}>
            Sign out
          </button>
        </div>
      </header>
      <SayProvider>
        <main id="main">
          <Guarded place={place} />
        </main>
      </SayProvider>
    </>
  );
}

/** Until a server that did not answer is asked again. */
const RETRY_MS = 3000;

export function App() {
  const [signed, setSigned] = useState<{ key: string; who: Who } | null>(null);
  const [why, setWhy] = useState<string | null>(null);
  const [trying, setTrying] = useState(storedKey() !== null);

  const out = useCallback((reason: string | null) => {
    storeKey(null);
    setSigned(null);
    setWhy(reason);
  }, []);
  const signOut = useCallback(() => out(null), [out]);
  const refused = useCallback(
    () => out('The key is no longer valid: it was revoked, or it has expired.'),
    [out],
  );

  const signIn = useCallback(async (key: string) => {
    setWhy(null);
    setTrying(true);
    try {
      // No header could carry it.
      if (!/^[\x21-\x7e]+$/.test(key)) throw new Refused(401, {});
      const who = await call(key, 'GET /v1/key', {});
      storeKey(key);
      setSigned({ key, who });
    } catch (error) {
      const said = error instanceof Refused ? error : null;
      if (said?.status === 401) storeKey(null);
      // The tab's own key is good, and nobody has to type it again.
      else if (key === storedKey()) setTimeout(() => void signIn(key), RETRY_MS);
      setWhy(said?.status === 401 ? 'Tock knows no such key.' : (said?.message ?? String(error)));
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
