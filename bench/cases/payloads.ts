import { livesOf } from '../life_cycle.ts';
import { weightsOf } from '../space.ts';
import type { Case, Group, Run } from '../types.ts';
import { rivals } from '../windows.ts';

async function sized(run: Run, label: string, bytes: number, longest: number): Promise<Case[]> {
  const systems = rivals(run);
  const prefix = `payload ${label}: `;
  const short = { ...run, seconds: Math.min(run.seconds, longest) };
  return [
    ...(await livesOf(short, { systems, bytes, batches: [100], lives: [], prefix })),
    ...(await weightsOf(run, { systems, bytes, tasks: 2_000_000 / bytes, prefix })),
  ];
}

/** Payloads of 1 and 16 KB at 100 per call, for Tock and the best peers. */
export const groups: Group[] = [
  {
    name: 'payloads',
    slow: true,
    run: async (run) => [
      ...(await sized(run, '1 KB', 1000, 1)),
      ...(await sized(run, '16 KB', 16_000, 0.5)),
    ],
  },
];
