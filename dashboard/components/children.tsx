import { ChevronDown, ChevronRight } from 'lucide';
import { useRef, useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { type Polled, usePolling } from '../polling.ts';
import { Icon } from './icon.tsx';
import { Panel, PolledContent } from './panel.tsx';
import { QueueLink, State, TaskLink } from './state.tsx';
import { Updated } from './times.tsx';

const PAGE = 20;
const MOST = 1000;

/** The children of a task; `more` asks for more of them, and is null if there are none. */
function useChildren(id: string) {
  const [limit, setLimit] = useState(PAGE);
  const query = { limit };
  const polled = usePolling('GET /v1/tasks/{id}/children', { path: { id }, query }, 10_000);
  // The shorter list stays while the longer one is loading.
  const last = useRef(polled.data);
  last.current = polled.data ?? last.current;
  const data = last.current;
  const more = data?.cursor && limit < MOST ? () => setLimit(MOST) : null;
  return { polled: { ...polled, data }, more };
}

type Page = Answer<'GET /v1/tasks/{id}/children'>;

function Level({ polled, more }: { polled: Polled<Page>; more: (() => void) | null }) {
  return (
    <PolledContent polled={polled}>
      {({ children, cursor }) => (
        <>
          {children.length === 0 && <p class="none">It has no children.</p>}
          <ul>
            {children.map((child) => (
              <Branch key={child.id} {...child} />
            ))}
          </ul>
          {more && (
            <button type="button" onClick={more}>
              Show more
            </button>
          )}
          {cursor && !more && <p class="hint">There are more.</p>}
        </>
      )}
    </PolledContent>
  );
}

const LevelOf = ({ id }: { id: string }) => <Level {...useChildren(id)} />;

function Branch({ id, queue, state }: Page['children'][number]) {
  const [isOpen, setOpen] = useState(false);
  return (
    <li>
      <button
        type="button"
        class="quiet small"
        aria-expanded={isOpen}
        aria-label={`Children of ${id}`}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon of={isOpen ? ChevronDown : ChevronRight} />
      </button>{' '}
      <TaskLink id={id} /> <QueueLink queue={queue} /> <State state={state} />
      {isOpen && <LevelOf id={id} />}
    </li>
  );
}

/** The tasks that depend on a task or are parts of it, as a tree: a task opens to show its own children. */
export function Children({ id }: { id: string }) {
  const { polled, more } = useChildren(id);
  if (!polled.data?.children.length && !polled.error) return null;
  return (
    <Panel title="Children" side={<Updated at={polled.at} />}>
      <p class="hint">These tasks depend on this one or are parts of it.</p>
      <div class="tree">
        <Level polled={polled} more={more} />
      </div>
    </Panel>
  );
}
