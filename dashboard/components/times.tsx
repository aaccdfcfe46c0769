import { useMemo } from 'preact/hooks';
import { duration, exactTime, relative } from '../format.ts';
import { usePaused } from '../pause.ts';
import { useNow } from '../polling.ts';

/** An instant as relative time. Its title has the exact instant. */
export function Ago({ at }: { at: string | null | undefined }) {
  const now = useNow();
  const exact = useMemo(() => (at ? exactTime(at) : undefined), [at]);
  if (!at) return <>–</>;
  return (
    <time dateTime={at} title={exact}>
      {relative(at, now)}
    </time>
  );
}

/** How long a state has lasted. */
export function Since({ at }: { at: string | null | undefined }) {
  const now = useNow();
  const exact = useMemo(() => (at ? exactTime(at) : undefined), [at]);
  if (!at) return <>–</>;
  return (
    <time dateTime={at} title={exact}>
      {duration(Math.max(0, Math.round((now - Date.parse(at)) / 1000)))}
    </time>
  );
}

/** The time of the last answer. */
export function Updated({ at }: { at: number | null }) {
  const now = useNow();
  const paused = usePaused();
  if (at === null) return null;
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  return (
    <span class={seconds > 20 ? 'updated old' : 'updated'}>
      {seconds < 5 ? (paused ? 'paused' : 'live') : `as of ${duration(seconds)} ago`}
    </span>
  );
}
