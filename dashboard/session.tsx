import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { KeyInfo } from './types.ts';

export type Session = {
  key: string;
  keyInfo: KeyInfo;
  /** Called when the server refuses the key, because it was revoked or changed after the sign-in. */
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

/** True if the key has the scope for the queue; without a queue, for every queue. */
export function useMay(): (scope: 'enqueue' | 'admin', queue?: string) => boolean {
  const { keyInfo } = useSession();
  return (scope, queue) =>
    keyInfo.scopes.includes(scope) &&
    (keyInfo.queues === null || (queue !== undefined && keyInfo.queues.includes(queue)));
}

// Session storage is deleted with the tab, and other sites cannot read it.
const NAME = 'tock-key';
export const storedKey = () => sessionStorage.getItem(NAME);
export function storeKey(key: string | null): void {
  if (key === null) sessionStorage.removeItem(NAME);
  else sessionStorage.setItem(NAME, key);
}
