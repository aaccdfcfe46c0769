import type { Work } from './types.ts';

/**
 * Tock's delayed and retried tasks, for pgbench. Each iteration enqueues `batch` tasks, half of them delayed by a
 * second, claims as many and completes them. A tenth of the claims fail all their tasks, with a retry in half a
 * second. Claims promote due tasks.
 */
export function mix(batch: number): Work {
  const text = 'x'.repeat(75);
  const task = (n: number) => {
    const payload = `"payload": {"n": ${n}, "text": "${text}"}`;
    return n % 2 === 0 ? `{${payload}}` : `{${payload}, "delay_seconds": 1}`;
  };
  const tasks = (first: number) =>
    `'[${Array.from({ length: batch }, (_, n) => task(first + n)).join(', ')}]'`;
  const none = '00000000-0000-0000-0000-000000000000';
  const claim =
    `select coalesce(max(lease::text), '${none}') as lease, sum(length(payload::text)) as bytes
    from tock.claim(p_queue => 'mix', p_limit => ${batch}, p_own_transaction => true)`.replace(
      /\s+/g,
      ' ',
    );
  const enqueue = (first: number) => `select tock.enqueue('mix', ${tasks(first)});`;
  // With one task per call, half of the calls, chosen at random, enqueue a delayed task.
  const enqueued =
    batch > 1
      ? [enqueue(0)]
      : [
          '\\set later random(0, 1)',
          '\\if :later = 1',
          enqueue(1),
          '\\else',
          enqueue(0),
          '\\endif',
        ];
  const script = [
    ...enqueued,
    '\\set fails random(1, 10)',
    `${claim} \\gset`,
    '\\if :fails = 1',
    `select * from tock.fail(:lease, '{"retry_in_seconds": 0.5}');`,
    '\\else',
    'select * from tock.complete(:lease);',
    '\\endif',
  ];
  return { by: 'pgbench', script: `${script.join('\n')}\n` };
}
