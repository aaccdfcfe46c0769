import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { KeyInfo } from './types.ts';

export type Session = {
  key: string;
  keyInfo: KeyInfo;
  /** Called when the key was revoked or changed meanwhile. */
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

/** Whether the key has a scope for a queue, or without one for every queue. */
export function useMay(): (scope: 'enqueue' | 'admin', queue?: string) => boolean {
  const { keyInfo } = useSession();
  return (scope, queue) =>
    keyInfo.scopes.includes(scope) &&
    (keyInfo.queues === null || (queue !== undefined && keyInfo.queues.includes(queue)));
}

// Session storage: deleted with the tab, and not visible to other sites.
const NAME = 'tock-key';
export const storedKey = () => sessionStorage.getItem(NAME);
export function storeKey(key: string | null): void {
  if (key === null) sessionStorage.removeItem(NAME);
  else sessionStorage.setItem(NAME, key);
}
