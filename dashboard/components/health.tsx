import { CircleCheck } from 'lucide';
import { plural } from '../format.ts';
import type { Polled } from '../polling.ts';
import type { Finding } from '../types.ts';
import { Findings, severities, worstFirst } from './findings.tsx';
import { Icon } from './icon.tsx';
import { MissingNodes, Problem } from './panel.tsx';
import { Updated } from './times.tsx';

/** The doctor's findings in one line, which opens. */
export function Health({ polled }: { polled: Polled<{ findings: Finding[] }> }) {
  if (polled.error?.status === 403) return null;
  if (polled.error && !polled.data) return <Problem error={polled.error} />;
  if (!polled.data)
    return (
      <section class="strip" aria-label="Health">
        Loading …
      </section>
    );
  const findings = worstFirst(polled.data.findings);
  const [worst] = findings;
  if (!worst) {
    return (
      <section class="strip good" aria-label="Health">
        <Icon of={CircleCheck} /> The doctor finds no problem <Updated at={polled.at} />
        <MissingNodes of={polled.data} />
      </section>
    );
  }
  const others = findings.length - 1;
  return (
    <section aria-label="Health">
      <details class={`strip ${worst.severity}`}>
        <summary>
          <strong class="severity">{severities[worst.severity] ?? worst.severity}</strong>{' '}
          <span>
            {worst.finding}
            {others > 0 && `, and ${plural(others, 'more finding')}`}
          </span>{' '}
          <Updated at={polled.at} />
        </summary>
        <Findings findings={findings} />
      </details>
      <MissingNodes of={polled.data} />
    </section>
  );
}
