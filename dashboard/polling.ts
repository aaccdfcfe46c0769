import { useEffect, useRef, useState } from 'preact/hooks';
import { type RouteInput, requestLine } from '../client/route.ts';
import type { Answer, Route } from '../client/wire.ts';
import { call, Refused } from './api.ts';
import { onChanges } from './changes.ts';
import { isPaused, onPauseChange } from './pause.ts';
import { useSession } from './session.tsx';

export type Polled<T> = {
  /** The last answer, also while later polls fail. */
  data: T | undefined;
  error: Refused | null;
  /** When the last answer came, in ms. */
  at: number | null;
};

/** The longest pause after failures, unless the interval is longer. */
const MOST_MS = 30_000;

/** The time until parts of the page with this interval load next, all at the same moment, so that their numbers agree. */
export function untilNext(intervalMs: number): number {
  const rest = intervalMs - (performance.now() % intervalMs);
  return rest < intervalMs / 2 ? rest + intervalMs : rest;
}

/** Polls a route, also after each change by the user. It sends nothing while `input` is null. */
export function usePolling<R extends Route>(
  route: R,
  input: RouteInput<R> | null,
  intervalMs?: number,
): Polled<Answer<R>> {
  const path = input && requestLine(route, input)[1];
  const load: Load<Answer<R>> = (key, signal) =>
    call(key, route, input as RouteInput<R>, { signal });
  return usePolledAnswer(path, load, intervalMs);
}

type Load<T> = (key: string, signal: AbortSignal) => Promise<T>;

/**
 * Polls while the page is visible and the user has not paused it, one request at a time, with longer pauses after failures. `path` names what is
 * loaded: another path begins anew, and null loads nothing.
 */
export function usePolledAnswer<T>(
  path: string | null,
  load: Load<T>,
  intervalMs = 3000,
): Polled<T> {
  const { key, refused } = useSession();
  const [state, setState] = useState<{ path: string | null } & Polled<T>>({
    path,
    data: undefined,
    error: null,
    at: null,
  });

  useEffect(() => {
    if (path === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let failures = 0;
    let control: AbortController | null = null;
    let isDue = true;

    async function poll(byHand = false) {
      clearTimeout(timer);
      const hasLoaded = control !== null;
      if (document.hidden || (isPaused() && hasLoaded && !byHand)) {
        isDue = true;
        return;
      }
      isDue = false;
      control?.abort();
      const controller = new AbortController();
      control = controller;
      try {
        const data = await load(key, controller.signal);
        if (controller.signal.aborted) return;
        failures = 0;
        setState({ path, data, error: null, at: Date.now() });
      } catch (thrown) {
        if (controller.signal.aborted) return;
        failures++;
        const error = thrown instanceof Refused ? thrown : new Refused(0, { detail: `${thrown}` });
        if (error.status === 401) refused();
        setState((previous) =>
          previous.path === path
            ? { ...previous, error }
            : { path, data: undefined, error, at: null },
        );
      }
      const pauseMs =
        failures === 0
          ? untilNext(intervalMs)
          : Math.max(intervalMs, Math.min(MOST_MS, intervalMs * 2 ** failures));
      timer = setTimeout(() => void poll(), pauseMs);
    }

    const onVisible = () => {
      if (!document.hidden && isDue) void poll();
    };
    // What is on its way may be older than the change. Several calls of a moment are one poll.
    const again = () => {
      control?.abort();
      clearTimeout(timer);
      timer = setTimeout(() => void poll(true));
    };
    document.addEventListener('visibilitychange', onVisible);
    const offPause = onPauseChange(onVisible);
    const offChanges = onChanges(again);
    void poll();
    return () => {
      clearTimeout(timer);
      control?.abort();
      document.removeEventListener('visibilitychange', onVisible);
      offPause();
      offChanges();
    };
  }, [path, intervalMs, key, refused]);

  return state.path === path ? state : { data: undefined, error: null, at: null };
}

// All times of a page change together, so that a long list is laid out once a second and not in every frame.
const clocks = new Set<(now: number) => void>();
let ticker: ReturnType<typeof setInterval> | undefined;
function tick() {
  const now = Date.now();
  for (const set of clocks) set(now);
}

/** A text that depends on the time, such as "12 s ago". Only a change of the text draws the component again. */
export function useTimeText(textAt: (now: number) => string): string {
  const text = textAt(Date.now());
  const [, setDrawn] = useState(text);
  const latest = useRef(textAt);
  latest.current = textAt;
  useEffect(() => {
    const onTick = (now: number) => setDrawn(latest.current(now));
    if (clocks.size === 0) ticker = setInterval(tick, 1000);
    clocks.add(onTick);
    return () => {
      clocks.delete(onTick);
      if (clocks.size === 0) clearInterval(ticker);
    };
  }, []);
  return text;
}
