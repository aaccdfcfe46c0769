import type { NewStep, StepOutcome } from '../types.ts';
import { isRefusal } from './report_outcomes.ts';

type Save = (steps: NewStep[]) => Promise<StepOutcome[]>;
type Part = {
  steps: NewStep[];
  size: number;
  resolve(outcomes: StepOutcome[]): void;
  reject(error: unknown): void;
};

/** A call takes up to a thousand steps, and a body of up to 5 MiB. */
const MAX_STEPS = 1000;
const MAX_SIZE = 1_000_000;

/**
 * Saves steps of the tasks of a lease with one call at a time, because calls on one lease wait for each other. Steps that
 * come meanwhile go together in the next call. If a call is refused, its parts are saved one by one.
 */
export function createStepSaver(save: Save): Save {
  const parts: Part[] = [];
  let isSaving = false;

  function take(): Part[] {
    let [count, size] = [0, 0];
    const end = parts.findIndex((part, n) => {
      count += part.steps.length;
      size += part.size;
      return n > 0 && (count > MAX_STEPS || size > MAX_SIZE);
    });
    return parts.splice(0, end < 0 ? parts.length : end);
  }

  async function saveParts(taken: Part[]): Promise<void> {
    try {
      const outcomes = await save(taken.flatMap(({ steps }) => steps));
      for (const { steps, resolve } of taken) resolve(outcomes.splice(0, steps.length));
    } catch (error) {
      if (taken.length > 1 && isRefusal(error)) for (const part of taken) await saveParts([part]);
      else for (const { reject } of taken) reject(error);
    }
  }

  async function saveAll(): Promise<void> {
    isSaving = true;
    // What is saved at the same time goes together.
    await Promise.resolve();
    while (parts.length > 0) await saveParts(take());
    isSaving = false;
  }

  return (steps) =>
    new Promise((resolve, reject) => {
      parts.push({ steps, size: JSON.stringify(steps).length, resolve, reject });
      if (!isSaving) void saveAll();
    });
}
