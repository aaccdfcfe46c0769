import type { Answer } from '../../client/wire.ts';
import { count, plural } from '../format.ts';
import { useHidden } from '../hidden_fields.ts';
import { useAction } from '../notifications.tsx';
import { usePolling } from '../polling.ts';
import { href } from '../route.ts';
import { useMay } from '../session.tsx';
import { ConfirmButton } from './confirm.tsx';
import { useBackgroundChoice } from './in_background.tsx';
import { Panel, PolledContent } from './panel.tsx';
import { TaskLink } from './state.tsx';
import { Table } from './table.tsx';
import { Ago, Updated } from './times.tsx';

type Group = Answer<'GET /v1/queues/{queue}/dead'>['groups'][number];

/** Explains why the tab and the groups differ: the tab counts all stored dead tasks, the groups those without a rerun. */
function UncountedDead({ dead, groups }: { dead: number | null | undefined; groups: Group[] }) {
  const uncounted = (dead ?? 0) - groups.reduce((all, { tasks }) => all + tasks, 0);
  if (uncounted <= 0) return null;
  return (
    <p class="hint">
      {plural(dead, 'dead task is', 'dead tasks are')} stored.{' '}
      {plural(uncounted, 'of them is', 'of them are')} not counted here: run again already, or older
      than this queue's retention.
    </p>
  );
}

/** Redrives the tasks of a group, with the calls of this tab or in the background. */
function RedriveButton({
  queue,
  error,
  tasks,
  redrive,
}: {
  queue: string;
  error: string;
  tasks: number;
  redrive(): Promise<void>;
}) {
  const { start, box } = useBackgroundChoice(tasks);
  const reason = 'from the dashboard';
  return (
    <ConfirmButton
      label="Redrive"
      title={`Redrive ${plural(tasks, 'dead task')}?`}
      buttonLabel="Redrive"
      onConfirm={() => (start ? start(queue, { change: 'redrive', error, reason }) : redrive())}
    >
      <p class="error">{useHidden().text(error)}</p>
      <p>Each runs again as a new task.</p>
      {box}
    </ConfirmButton>
  );
}

const MOST_GROUPS = 20;
/** The filter of the tasks that the groups count. */
const withoutRerun = { state: 'dead', rerun: 'false' };

export function DeadGroups({ queue, dead }: { queue: string; dead: number | null | undefined }) {
  const path = { queue };
  const query = { limit: MOST_GROUPS };
  const polled = usePolling('GET /v1/queues/{queue}/dead', { path, query }, 10_000);
  const may = useMay();
  const hidden = useHidden();
  const action = useAction();
  // The call must name the error, or it would rerun all dead tasks of the queue.
  const redrive = async (error: string) => {
    type ChangedPart = Answer<'POST /v1/queues/{queue}/redrive'>;
    let cursor: string | null = null;
    let redriven = 0;
    do {
      const request_id = crypto.randomUUID();
      const result: ChangedPart | null = await action(
        'POST /v1/queues/{queue}/redrive',
        { path, body: { error, cursor, request_id, reason: 'from the dashboard' } },
        (answer) =>
          `${plural(redriven + answer.redriven, `dead task of ${queue} is`, `dead tasks of ${queue} are`)} redriven.`,
      );
      redriven += result?.redriven ?? 0;
      cursor = result?.cursor ?? null;
    } while (cursor);
  };
  return (
    <Panel title="Dead tasks by error" side={<Updated at={polled.at} />}>
      <PolledContent polled={polled}>
        {({ groups, counted_all }) => (
          <>
            <Table
              stacked
              label="Dead tasks by error"
              rows={groups}
              // Not by the newest task, so that an open dialog stays while more tasks die.
              id={({ error }) => JSON.stringify(error)}
              emptyText={dead ? 'No dead task is left to redrive.' : 'No task is dead.'}
              columns={[
                {
                  name: 'Error',
                  show: ({ error }) => (
                    <span class="error">{error === null ? '(none)' : hidden.text(error)}</span>
                  ),
                },
                {
                  name: 'Tasks',
                  number: true,
                  sortKey: (g) => g.tasks,
                  show: (g) => count(g.tasks),
                },
                { name: 'Newest', show: ({ newest_at }) => <Ago at={newest_at} /> },
                { name: 'Example', show: ({ newest_id }) => <TaskLink id={newest_id} /> },
                {
                  name: 'Actions',
                  show: ({ error, tasks }) => (
                    <span class="buttons">
                      {/* An error with hidden fields does not get into an address either. */}
                      {error === null || hidden.text(error) !== error ? (
                        <a href={href(['tasks'], { queue, ...withoutRerun })}>
                          List all dead tasks
                        </a>
                      ) : (
                        <a href={href(['tasks'], { queue, error, ...withoutRerun })}>
                          List them<span class="hidden">: {error}</span>
                        </a>
                      )}
                      {error !== null && may('enqueue', queue) && (
                        <RedriveButton
                          queue={queue}
                          error={error}
                          tasks={tasks}
                          redrive={() => redrive(error)}
                        />
                      )}
                    </span>
                  ),
                },
              ]}
            />
            {counted_all && groups.length < MOST_GROUPS && (
              <UncountedDead dead={dead} groups={groups} />
            )}
            {!counted_all && <p class="hint">Only the newest 100,000 dead tasks were counted.</p>}
          </>
        )}
      </PolledContent>
    </Panel>
  );
}
