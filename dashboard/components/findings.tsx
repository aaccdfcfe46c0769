import { exactTime } from '../format.ts';
import { useHidden } from '../hidden_fields.ts';
import { href } from '../route.ts';
import type { Finding } from '../types.ts';
import { Hint } from './hint.tsx';

export const severities: Record<string, string> = {
  critical: 'Critical',
  warning: 'Warning',
  note: 'Note',
};
const order = ['critical', 'warning', 'note'];

const instants = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g;

/** Text with links for the tasks and queues that it names, and with times in the browser's time zone. */
function Linked({ text }: { text: string }) {
  const segments = text.replace(instants, exactTime).split(/\b((?:task|queue) [\w.:-]*\w)/);
  return (
    <>
      {segments.map((segment, n) => {
        const [kind, name = ''] = segment.split(' ');
        const isLink = n % 2 === 1 && (kind === 'queue' || /^\d+$/.test(name));
        return isLink ? (
          <a key={segment} href={href([`${kind}s`, name])}>
            {segment}
          </a>
        ) : (
          segment
        );
      })}
    </>
  );
}

/** Sorts findings by severity, because the server appends its findings about clocks. */
export const worstFirst = (findings: readonly Finding[]) =>
  [...findings].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));

/** A reason why tasks are late has no page. */
type Shown = Omit<Finding, 'page'> & Partial<Finding>;

/** Findings in their order, each with its hint and its page; of a queue, or of all. */
export function Findings({ findings, queue }: { findings: readonly Shown[]; queue?: string }) {
  const hidden = useHidden();
  return (
    <ul class="findings">
      {findings.map(({ finding, severity, detail, hint, page }) => (
        <li key={`${finding} ${detail}`} class={severity}>
          <p>
            <strong class="severity">{severities[severity] ?? severity}</strong>{' '}
            <strong>{page ? <a href={`.${page}`}>{finding}</a> : finding}</strong>
          </p>
          {detail && (
            <p>
              <Linked text={hidden.text(detail)} />
            </p>
          )}
          {hint && (
            <p class="hint">
              <span>Hint:</span> <Hint text={hint} queue={queue} />
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}
