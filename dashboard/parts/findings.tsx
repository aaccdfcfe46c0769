import { href } from '../route.ts';
import type { Finding } from '../types.ts';

const words: Record<string, string> = { critical: 'Critical', warning: 'Warning', note: 'Note' };
const order = ['critical', 'warning', 'note'];

/** Words with links where they name a task or a queue. */
function Linked({ text }: { text: string }) {
  const parts = text.split(/\b((?:task|queue) [\w.:-]*\w)/);
  return (
    <>
      {parts.map((part, n) => {
        const [what, name = ''] = part.split(' ');
        const found = n % 2 === 1 && (what === 'queue' || /^\d+$/.test(name));
        return found ? (
          <a key={part} href={href([`${what}s`, name])}>
            {part}
          </a>
        ) : (
          part
        );
      })}
    </>
  );
}

/** The server appends what it says of clocks. */
export const worstFirst = (findings: readonly Finding[]) =>
  [...findings].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));

/** What is not as it should be, as it was ordered, each with what to do. */
export function Findings({ findings }: { findings: readonly Finding[] }) {
  return (
    <ul class="findings">
      {findings.map(({ finding, severity, detail, hint }) => (
        <li key={`${finding} ${detail}`} class={severity}>
          <p>
            <strong class="severity">{words[severity] ?? severity}</strong>{' '}
            <strong>{finding}</strong>
          </p>
          {detail && (
            <p>
              <Linked text={detail} />
            </p>
          )}
          {hint && (
            <p class="hint">
              <span>What to do:</span> {hint}
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}
