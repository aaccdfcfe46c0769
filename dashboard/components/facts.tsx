import type { ComponentChildren } from 'preact';

/** A list of names with their values. It leaves out null, undefined and false. */
export function Facts({ facts }: { facts: [string, unknown][] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== null && value !== undefined && value !== false)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value as ComponentChildren}</dd>
          </div>
        ))}
    </dl>
  );
}
