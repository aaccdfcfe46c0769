export type StepReporter = {
  /** Runs one step. Prints its name before it and its duration after it. */
  step<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** A remark, inside a step or between two. */
  note(text: string): void;
};

/** Prints steps as lines `name ... 1.2 s`; a note during a step gets its own line. */
export function stepReporter(write: (text: string) => void): StepReporter {
  let isLineOpen = false;
  const breakLine = () => {
    if (isLineOpen) write('\n');
    isLineOpen = false;
  };
  return {
    async step(name, work) {
      breakLine();
      const started = performance.now();
      write(`- ${name} ...`);
      isLineOpen = true;
      const result = await work();
      const seconds = `${((performance.now() - started) / 1000).toFixed(1)} s\n`;
      write(isLineOpen ? ` ${seconds}` : `  done in ${seconds}`);
      isLineOpen = false;
      return result;
    },
    note(text) {
      breakLine();
      for (const line of text.split('\n')) write(`  ${line}\n`);
    },
  };
}

export const aloud = stepReporter((text) => process.stdout.write(text));

/** Prints only remarks, not steps. For tests. */
export const softly: StepReporter = {
  step: (_name, work) => work(),
  note: (text) => process.stdout.write(`${text}\n`),
};

export const silently: StepReporter = { step: (_name, work) => work(), note() {} };
