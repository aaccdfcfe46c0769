import { type ComponentChildren, createContext } from 'preact';
import { useCallback, useContext, useState } from 'preact/hooks';
import type { RouteInput } from '../client/route.ts';
import type { Answer, Route } from '../client/wire.ts';
import { call, Refused } from './api.ts';
import { useSession } from './session.tsx';

type Said = { text: string; bad: boolean } | null;
type Say = (said: Said) => void;
const Context = createContext<Say>(() => {});

/** Where it is said, to eyes and to screen readers, what became of an action. */
export function SayProvider({ children }: { children: ComponentChildren }) {
  const [said, setSaid] = useState<Said>(null);
  const say = useCallback<Say>((next) => setSaid(next), []);
  return (
    <Context.Provider value={say}>
      {children}
      <div class="said" role="status" aria-live="polite">
        {said && !said.bad && <Message text={said.text} close={() => setSaid(null)} />}
      </div>
      <div class="said" role="alert">
        {said?.bad && <Message bad text={said.text} close={() => setSaid(null)} />}
      </div>
    </Context.Provider>
  );
}

function Message({ text, bad, close }: { text: string; bad?: boolean; close(): void }) {
  return (
    <p class={bad ? 'message bad' : 'message'}>
      <span>{text}</span>
      <button type="button" class="quiet" onClick={close}>
        Close
      </button>
    </p>
  );
}

/** All that a refusal says, in sentences. */
export const sentences = ({ message, problem }: Refused) =>
  [message, ...(problem.errors ?? []).slice(1).map(({ field, detail }) => `${field}: ${detail}`)]
    .concat(problem.hint ?? [])
    .map((one) => (/[.!?]$/.test(one) ? one : `${one}.`))
    .join(' ');

type Act = <R extends Route>(
  route: R,
  given: RouteInput<R>,
  done: string | ((answer: Answer<R>) => string),
) => Promise<Answer<R> | null>;

/** Does something with the key, and says how that went: null when it was refused. */
export function useAct(): Act {
  const { key } = useSession();
  const say = useContext(Context);
  return async (route, given, done) => {
    try {
      const answer = await call(key, route, given);
      say({ text: typeof done === 'string' ? done : done(answer), bad: false });
      return answer;
    } catch (error) {
      say({ text: error instanceof Refused ? sentences(error) : String(error), bad: true });
      return null;
    }
  };
}
