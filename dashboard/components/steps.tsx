import { useMemo, useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { count, errorLine } from '../format.ts';
import { useHidden } from '../hidden_fields.ts';
import type { Polled } from '../polling.ts';
import { useMay, useSession } from '../session.tsx';
import { Tree } from './json_tree.tsx';
import { Panel, Problem } from './panel.tsx';
import { SignalForm } from './payload_form.tsx';
import { RerunButton } from './rerun.tsx';
import { State, TaskLink } from './state.tsx';
import { Table } from './table.tsx';
import { Ago } from './times.tsx';

type TaskAnswer = Answer<'GET /v1/tasks/{id}'>;
type StepsAnswer = Answer<'GET /v1/tasks/{id}/steps'>;
export type Step = StepsAnswer['steps'][number];

const SHOWN = 100;
const MOST_SUMMARY = 80;

/** A result or an error: its beginning, which opens to the whole. */
function Outcome({ value: whole, isError }: { value: unknown; isError: boolean }) {
  const { value: hide } = useHidden();
  const [value, summary] = useMemo(() => {
    const shown = hide(whole);
    const text = isError ? errorLine(shown) : JSON.stringify(shown);
    return [shown, text?.slice(0, MOST_SUMMARY)] as const;
  }, [whole]);
  return (
    <details class="outcome">
      <summary>{isError ? <span class="error">{summary}</span> : summary}</summary>
      <Tree value={value} />
    </details>
  );
}

function Kind({ kind, event, child_id }: Step) {
  if (event !== null) return <>wait for {event}</>;
  return (
    <>
      {kind} {child_id !== null && <TaskLink id={child_id} />}
    </>
  );
}

/** What the handler of a task has saved, in the order of saving, and what the task waits for. */
export function Steps({ task, polled }: { task: TaskAnswer; polled: Polled<StepsAnswer> }) {
  const may = useMay();
  const { keyInfo } = useSession();
  const [all, setAll] = useState(false);
  const [signalled, setSignalled] = useState<string | null>(null);
  const steps = polled.data?.steps ?? [];
  if (steps.length === 0 && !polled.error) return null;
  const mayRerun = task.ended_at !== null && may('enqueue', task.queue);
  return (
    <Panel title="Steps">
      {polled.error && <Problem error={polled.error} />}
      {steps.length > SHOWN && !all && (
        <p>
          <button type="button" onClick={() => setAll(true)}>
            Show all {count(steps.length)} steps
          </button>
        </p>
      )}
      <Table
        label="Steps"
        stacked
        rows={all ? steps : steps.slice(-SHOWN)}
        id={({ name }) => name}
        emptyText=""
        columns={[
          { name: 'Step', show: ({ name }) => name },
          { name: 'Kind', show: Kind },
          {
            name: 'State',
            show: ({ state, unused }) => (
              <>
                <State state={state.replace('_', ' ')} /> {unused && 'unused'}
              </>
            ),
          },
          { name: 'Failures', number: true, show: ({ failures }) => failures || '–' },
          ...(steps.some(({ version }) => version !== null)
            ? [{ name: 'Version', number: true, show: ({ version }: Step) => version ?? '–' }]
            : []),
          { name: 'Saved', show: ({ saved_at }) => <Ago at={saved_at} /> },
          { name: 'Due', show: ({ due_at }) => <Ago at={due_at} /> },
          {
            name: 'Outcome',
            show: ({ state, event, result, error }) => {
              if (error !== null) return <Outcome value={error} isError />;
              if (result !== null) return <Outcome value={result} isError={false} />;
              const waits = event !== null && state === 'waiting' && !task.ended_at;
              return waits && !keyInfo.tenants && may('enqueue', event.split('/')[0]) ? (
                <button
                  type="button"
                  aria-haspopup="dialog"
                  class="small"
                  onClick={() => setSignalled(event)}
                >
                  Signal
                </button>
              ) : (
                '–'
              );
            },
          },
          ...(mayRerun
            ? [
                {
                  name: 'Again',
                  show: ({ name }: Step) => (
                    <RerunButton
                      id={task.id}
                      label="Rerun from here"
                      class="small"
                      from_step={name}
                    />
                  ),
                },
              ]
            : []),
        ]}
      />
      {signalled !== null && <SignalForm event={signalled} onClose={() => setSignalled(null)} />}
    </Panel>
  );
}
