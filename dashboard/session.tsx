import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { Who } from './types.ts';

export type Session = {
  key: string;
  who: Who;
  /** Somebody ended or changed the key meanwhile. */
  refused(): void;
  signOut(): void;
};

const Context = createContext<Session | null>(null);
export const SessionProvider = Context.Provider;

export function useSession(): Session {
  const session = useContext(Context);
  if (!session) throw new Error('There is no session.');
  return session;
}

/** Whether the key may, in a queue or, where none is named, in every queue. */
export function useMay(): (scope: 'enqueue' | 'admin', queue?: string) => boolean {
  const { who } = useSession();
  return (scope, queue) =>
    who.scopes.includes(scope) &&
    (who.queues === null || (queue !== undefined && who.queues.includes(queue)));
}

// A tab's own storage: gone with the tab, and no other site's.
const NAME = 'tock-key';
export const storedKey = () => sessionStorage.getItem(NAME);
export function storeKey(key: string | null): void {
  if (key === null) sessionStorage.removeItem(NAME);
  else sessionStorage.setItem(NAME, key);
}
