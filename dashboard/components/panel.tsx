import type { ComponentChildren } from 'preact';
import type { Refused } from '../api.ts';
import { sentences } from '../notifications.tsx';
import type { Polled } from '../polling.ts';

export function Panel({
  title,
  children,
  side,
}: {
  title: string;
  children: ComponentChildren;
  side?: ComponentChildren;
}) {
  return (
    <section class="panel">
      <header>
        <h2>{title}</h2>
        {side}
      </header>
      {children}
    </section>
  );
}

export function Problem({ error }: { error: Refused }) {
  return (
    <p class="problem">
      <strong>{error.status === 0 ? 'Offline' : `Refused (${error.status})`}</strong>{' '}
      {sentences(error)}
    </p>
  );
}

/** Which nodes of several an answer lacks. */
export function MissingNodes({ of: answer }: { of: unknown }) {
  const { missing_nodes = [] } = (answer ?? {}) as { missing_nodes?: number[] };
  if (missing_nodes.length === 0) return null;
  return (
    <p class="problem">
      <strong>Incomplete</strong> Node {missing_nodes.join(', ')} does not answer. What it has is
      left out.
    </p>
  );
}

/** The content of a polled answer, or its error. */
export function PolledContent<T>({
  polled,
  children,
}: {
  polled: Polled<T>;
  children: (data: T) => ComponentChildren;
}) {
  const { data, error } = polled;
  return (
    <>
      {error && <Problem error={error} />}
      <MissingNodes of={data} />
      {data !== undefined ? children(data) : !error && <p class="none">Loading …</p>}
    </>
  );
}

/** Paging of a list: `next` is the cursor of the next page. */
export function Further({
  after,
  next,
  goTo,
}: {
  after: string | undefined;
  next: string | null | undefined;
  goTo(after: string | undefined): void;
}) {
  if (!after && !next) return null;
  return (
    <p class="buttons">
      {after && (
        <button type="button" onClick={() => goTo(undefined)}>
          First page
        </button>
      )}
      {next && (
        <button type="button" onClick={() => goTo(next)}>
          Next page
        </button>
      )}
    </p>
  );
}
