import { type ComponentChildren, createContext } from 'preact';
import { useCallback, useContext, useEffect, useState } from 'preact/hooks';
import type { RouteInput } from '../client/route.ts';
import type { Answer, Route } from '../client/wire.ts';
import { call, Refused } from './api.ts';
import { TaskLink } from './components/state.tsx';
import { parseHash } from './route.ts';
import { useSession } from './session.tsx';

type Notification = { text: string; isError: boolean } | null;
type Notify = (notification: Notification) => void;
/** A message of success covers the page for this time at most. An error stays until it is closed or the page changes. */
const SHOWN_MS = 15_000;
const Context = createContext<Notify>(() => {});

const pageName = () => parseHash(location.hash).path.join('/');

/** Shows the result of an action, also to screen readers. */
export function NotificationProvider({ children }: { children: ComponentChildren }) {
  const [notification, setNotification] = useState<Notification>(null);
  const notify = useCallback<Notify>((next) => setNotification(next), []);
  useEffect(() => {
    if (!notification || notification.isError) return;
    const timer = setTimeout(() => setNotification(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [notification]);
  useEffect(() => {
    if (!notification) return;
    // An action that goes to another page has done so by now, and its message shows there.
    const shownOn = pageName();
    const onHashChange = () => pageName() !== shownOn && setNotification(null);
    addEventListener('hashchange', onHashChange);
    return () => removeEventListener('hashchange', onHashChange);
  }, [notification]);
  return (
    <Context.Provider value={notify}>
      {children}
      <div class="notifications" role="status" aria-live="polite">
        {notification && !notification.isError && (
          <Message text={notification.text} close={() => setNotification(null)} />
        )}
      </div>
      <div class="notifications" role="alert">
        {notification?.isError && (
          <Message isError text={notification.text} close={() => setNotification(null)} />
        )}
      </div>
    </Context.Provider>
  );
}

function Message({ text, isError, close }: { text: string; isError?: boolean; close(): void }) {
  return (
    <p class={isError ? 'message bad' : 'message'}>
      <span>
        {text
          .split(/\btask (\d+)/)
          .map((part, n) => (n % 2 === 0 ? part : ['task ', <TaskLink key={part} id={part} />]))}
      </span>
      <button type="button" class="quiet" onClick={close}>
        Close
      </button>
    </p>
  );
}

/** All messages of a refusal, as sentences. A hint to the description of the API is for programs. */
export const sentences = ({ message, problem }: Refused) =>
  [message, ...(problem.errors ?? []).slice(1).map(({ field, detail }) => `${field}: ${detail}`)]
    .concat(problem.hint?.includes('/openapi.json') ? [] : (problem.hint ?? []))
    .map((sentence) => (/[.!?]$/.test(sentence) ? sentence : `${sentence}.`))
    .join(' ');

export const useNotify = () => useContext(Context);

type Action = <R extends Route>(
  route: R,
  input: RouteInput<R>,
  done: string | ((answer: Answer<R>) => string),
) => Promise<Answer<R> | null>;

/** Runs an action with the key and shows its result. Returns the answer, null if the server refused. */
export function useAction(): Action {
  const { key } = useSession();
  const notify = useNotify();
  return async (route, input, done) => {
    try {
      const answer = await call(key, route, input);
      notify({ text: typeof done === 'string' ? done : done(answer), isError: false });
      return answer;
    } catch (error) {
      notify({ text: error instanceof Refused ? sentences(error) : String(error), isError: true });
      return null;
    }
  };
}
