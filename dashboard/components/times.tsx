import { useMemo } from 'preact/hooks';
import { duration, exactTime, relative } from '../format.ts';
import { usePaused } from '../pause.ts';
import { useTimeText } from '../polling.ts';

type Props = { at: string | null | undefined };

function Time({ at, textAt }: { at: string; textAt(at: string, now: number): string }) {
  const text = useTimeText((now) => textAt(at, now));
  const exact = useMemo(() => exactTime(at), [at]);
  return (
    <time dateTime={at} title={exact}>
      {text}
    </time>
  );
}

/** An instant as relative time. Its title has the exact instant. */
export const Ago = ({ at }: Props) => (at ? <Time at={at} textAt={relative} /> : <>–</>);

const lasted = (at: string, now: number) =>
  duration(Math.max(0, Math.round((now - Date.parse(at)) / 1000)));

/** How long a state has lasted. */
export const Since = ({ at }: Props) => (at ? <Time at={at} textAt={lasted} /> : <>–</>);

/** The time of the last answer. */
export function Updated({ at }: { at: number | null }) {
  const paused = usePaused();
  const secondsAt = (now: number) => Math.max(0, Math.round((now - (at ?? now)) / 1000));
  const text = useTimeText((now) => {
    const seconds = secondsAt(now);
    return seconds < 5 ? (paused ? 'paused' : 'live') : `as of ${duration(seconds)} ago`;
  });
  if (at === null) return null;
  return <span class={secondsAt(Date.now()) > 20 ? 'updated old' : 'updated'}>{text}</span>;
}
