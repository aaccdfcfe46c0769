import { useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { count, errorLine, pretty } from '../format.ts';
import { useHidden } from '../hidden_fields.ts';
import { CopyButton } from './empty.tsx';
import { Panel } from './panel.tsx';
import { State } from './state.tsx';
import { Ago } from './times.tsx';

type TaskAnswer = Answer<'GET /v1/tasks/{id}'>;
type Failure = { run: TaskAnswer['runs'][number] | undefined; error: unknown };

const SHOWN = 20;
const MOST_TEXT = 20_000;
const MOST_SUMMARY = 300;

/** The errors of all attempts, the newest first. Only the error of the newest run is complete: it is the task's. */
function failuresOf({ runs, error }: TaskAnswer): Failure[] {
  if (runs.length === 0) return error === null ? [] : [{ run: undefined, error }];
  return runs
    .map((run, n) => ({ run, error: (n === runs.length - 1 ? error : null) ?? run.error }))
    .filter((failure) => failure.error !== null && failure.error !== undefined)
    .reverse();
}

/** An error as text: its message and the lines of its stack, then what else it has. */
function errorText(error: unknown): string {
  if (typeof error === 'string') return error;
  const { name, message, stack, shortened, ...others } = error as Record<string, unknown>;
  if (typeof message !== 'string') return pretty(error);
  const lines = typeof stack === 'string' ? stack : '';
  const parts = [
    lines.includes(message) ? '' : errorLine(error),
    lines,
    Object.keys(others).length > 0 ? pretty(others) : '',
  ];
  return parts.filter(Boolean).join('\n');
}

function Attempt({ failure: { run, error }, open }: { failure: Failure; open: boolean }) {
  const shown = useHidden().value(error);
  const text = errorText(shown);
  const { shortened } = error as { shortened?: unknown };
  return (
    <details class="failure" open={open}>
      <summary>
        {run && (
          <>
            Attempt {run.attempt} <State state={run.state} /> <Ago at={run.ended_at} />:{' '}
          </>
        )}
        <span class="error">{errorLine(shown)?.slice(0, MOST_SUMMARY)}</span>
      </summary>
      <pre>{text.slice(0, MOST_TEXT)}</pre>
      {text.length > MOST_TEXT && (
        <p class="hint">
          These are the first {count(MOST_TEXT)} of {count(text.length)} characters. Copy has all.
        </p>
      )}
      {shortened === true && (
        <p class="hint">Of a long error Tock shows the whole only for the newest attempt.</p>
      )}
      <CopyButton text={text} />
    </details>
  );
}

/** The errors of a task's attempts, each with its stack. */
export function Errors({ task }: { task: TaskAnswer }) {
  const [all, setAll] = useState(false);
  const failures = failuresOf(task);
  if (failures.length === 0) return null;
  return (
    <Panel title={failures.length === 1 ? 'Error' : `Errors of ${failures.length} attempts`}>
      {failures.slice(0, all ? undefined : SHOWN).map((failure, n) => (
        <Attempt key={failure.run?.id} failure={failure} open={n === 0} />
      ))}
      {failures.length > SHOWN && !all && (
        <p>
          <button type="button" onClick={() => setAll(true)}>
            Show all {failures.length} errors
          </button>
        </p>
      )}
    </Panel>
  );
}
