import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type RouteInput, requestLine } from '../client/route.ts';
import type { Answer, Route } from '../client/wire.ts';
import { call, Refused } from './api.ts';
import { useSession } from './session.tsx';

export type Live<T> = {
  /** What was last answered; it stays while a later look fails. */
  data: T | undefined;
  error: Refused | null;
  /** When `data` was answered, in ms. */
  at: number | null;
  refresh(): void;
};

const MOST_MS = 30_000;

/**
 * Asks again and again while the page can be seen, one request at a time; later after each failure. It asks nothing where
 * `given` is null.
 */
export function useLive<R extends Route>(
  route: R,
  given: RouteInput<R> | null,
  everyMs = 3000,
): Live<Answer<R>> {
  type T = Answer<R>;
  const path = given && requestLine(route, given)[1];
  const { key, refused } = useSession();
  const [state, setState] = useState<{ path: string | null } & Omit<Live<T>, 'refresh'>>({
    path,
    data: undefined,
    error: null,
    at: null,
  });
  const again = useRef<() => void>(() => {});

  useEffect(() => {
    if (path === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    let control: AbortController | null = null;
    let due = true;

    async function look() {
      clearTimeout(timer);
      if (document.hidden) {
        due = true;
        return;
      }
      due = false;
      control?.abort();
      const own = new AbortController();
      control = own;
      try {
        const data = await call(key, route, given as RouteInput<R>, { signal: own.signal });
        if (own.signal.aborted) return;
        failures = 0;
        setState({ path, data, error: null, at: Date.now() });
      } catch (thrown) {
        if (own.signal.aborted) return;
        failures++;
        const error = thrown instanceof Refused ? thrown : new Refused(0, { detail: `${thrown}` });
        if (error.status === 401) refused();
        setState((before) =>
          before.path === path ? { ...before, error } : { path, data: undefined, error, at: null },
        );
      }
      timer = setTimeout(look, Math.min(MOST_MS, everyMs * 2 ** failures));
    }

    const seen = () => {
      if (!document.hidden && due) void look();
    };
    again.current = () => void look();
    document.addEventListener('visibilitychange', seen);
    void look();
    return () => {
      clearTimeout(timer);
      control?.abort();
      document.removeEventListener('visibilitychange', seen);
    };
  }, [path, everyMs, key, refused]);

  const refresh = useCallback(() => again.current(), []);
  const { data, error, at } =
    state.path === path ? state : { data: undefined, error: null, at: null };
  return { data, error, at, refresh };
}

/** The time, for "12 s ago": once a second is often enough. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return now;
}
