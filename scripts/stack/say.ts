export type Say = {
  /** Does one step, printing its name first and its time after. */
  step<T>(name: string, work: () => Promise<T>): Promise<T>;
  /** A remark, inside a step or between two. */
  note(text: string): void;
};

/** Prints steps as lines `name ... 1.2 s`; a note in the middle takes a line of its own. */
export function sayTo(write: (text: string) => void): Say {
  let open = false;
  const breakLine = () => {
    if (open) write('\n');
    open = false;
  };
  return {
    async step(name, work) {
      breakLine();
      const started = performance.now();
      write(`- ${name} ...`);
      open = true;
      const result = await work();
      const seconds = `${((performance.now() - started) / 1000).toFixed(1)} s\n`;
      write(open ? ` ${seconds}` : `  done in ${seconds}`);
      open = false;
      return result;
    },
    note(text) {
      breakLine();
      for (const line of text.split('\n')) write(`  ${line}\n`);
    },
  };
}

export const aloud = sayTo((text) => process.stdout.write(text));

/** Remarks only: for tests, where the steps would be noise. */
export const softly: Say = {
  step: (_name, work) => work(),
  note: (text) => process.stdout.write(`${text}\n`),
};

export const silently: Say = { step: (_name, work) => work(), note() {} };
