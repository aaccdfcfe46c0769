import type { Answer } from '../../client/wire.ts';
import { count } from '../format.ts';
import type { Polled } from '../polling.ts';
import { href } from '../route.ts';
import { useMay } from '../session.tsx';
import { Bar } from './bar.tsx';
import { Panel, PolledContent } from './panel.tsx';
import { Updated } from './times.tsx';

export type Limits = Answer<'GET /v1/queues/{queue}/limits'>;

function Bars({ limits }: { limits: Limits }) {
  const { max_running, running, rate_limit, rate_seconds, rate_burst, level } = limits;
  const burst = rate_burst ?? rate_limit;
  return (
    <>
      {max_running !== null && (
        <Bar
          part={running ?? 0}
          whole={max_running}
          text={
            running === null
              ? `at most ${count(max_running)} running`
              : `${count(running)} of ${count(max_running)} running`
          }
        />
      )}
      {rate_limit !== null && burst !== null && level !== null && (
        <Bar
          part={burst - level}
          whole={burst}
          text={`${count(rate_limit)} starts in ${count(rate_seconds)}\u00a0s; ${count(Math.floor(level))} may start now`}
        />
      )}
    </>
  );
}

/** How much of a queue's limits is used. */
export function QueueLimits({ queue, limits }: { queue: string; limits: Polled<Limits> }) {
  const may = useMay();
  const names = ['max_running', 'rate_limit', 'rate_seconds', 'rate_burst'];
  return (
    <Panel title="Limits" side={<Updated at={limits.at} />}>
      <PolledContent polled={limits}>{(data) => <Bars limits={data} />}</PolledContent>
      {may('admin', queue) && (
        <p class="hint">
          Change{' '}
          {names.map((setting, n) => (
            <span key={setting}>
              {n > 0 && ', '}
              <a href={href(['queues', queue], { setting })}>{setting}</a>
            </span>
          ))}
        </p>
      )}
    </Panel>
  );
}
