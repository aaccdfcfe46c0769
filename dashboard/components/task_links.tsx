import type { Answer } from '../../client/wire.ts';
import { usePolling } from '../polling.ts';
import { useSession } from '../session.tsx';
import { Problem } from './panel.tsx';

type TaskAnswer = Answer<'GET /v1/tasks/{id}'>;

/** The data that a placeholder stands for; null or undefined if the task has none. */
function dataOf(task: TaskAnswer, name: string): unknown {
  const options = task.options ?? {};
  if (name === 'id' || name === 'queue' || name === 'tenant') return task[name];
  if (name === 'trace_id') {
    const { traceparent } = (options.headers ?? {}) as { traceparent?: unknown };
    return /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(String(traceparent))?.[1];
  }
  const [first, ...field] = name.split('.');
  if (first !== 'payload') return options[name];
  const payload = Object(task.payload) as Record<string, unknown>;
  return Object.hasOwn(payload, field.join('.')) ? payload[field.join('.')] : undefined;
}

/** The same as text; empty for null, lists and objects, which do not fit into a URL. */
function textOf(task: TaskAnswer, name: string): string {
  const value = dataOf(task, name);
  if (typeof value === 'string') return value;
  const text = JSON.stringify(value) ?? '';
  return /^(null$|[[{])/.test(text) ? '' : text;
}

/** The URL with the task's data in the placeholders; null if the task lacks one of them. */
function filledUrl(url: string, task: TaskAnswer): string | null {
  let isComplete = true;
  const filled = url.replaceAll(/\{([^{}]*)\}/g, (_, name: string) => {
    const text = textOf(task, name);
    if (text === '') isComplete = false;
    return encodeURIComponent(text.toWellFormed());
  });
  return isComplete ? filled : null;
}

/** The links from a task to the operator's own systems. */
export function TaskLinks({ task }: { task: TaskAnswer }) {
  const { keyInfo } = useSession();
  // A key of some tenants may not see them.
  const polled = usePolling('GET /v1/links', keyInfo.tenants ? null : {}, 3_600_000);
  if (polled.error) return <Problem error={polled.error} />;
  const links = (polled.data?.task_links ?? []).flatMap(({ name, url }) => {
    const filled = filledUrl(url, task);
    return filled === null ? [] : [{ name, url: filled }];
  });
  if (links.length === 0) return null;
  return (
    <nav class="buttons" aria-label="Links">
      {links.map(({ name, url }) => (
        <a key={name} class="button" href={url} target="_blank" rel="noopener noreferrer">
          {name}
        </a>
      ))}
    </nav>
  );
}
