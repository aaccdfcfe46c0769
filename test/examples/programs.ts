import { aptInstall, aptUpdate } from '../../scripts/stack/apt.ts';
import { run } from '../../scripts/stack/run.ts';
import { softly } from '../../scripts/stack/step_reporter.ts';

const missing = async (name: string) =>
  run([name, '--version']).then(
    () => false,
    () => true,
  );

/** Installs missing programs with apt, as root. Returns null, or why a program is not available. */
export async function whyUnavailable(names: string[]): Promise<string | null> {
  const wanted = [];
  for (const name of names) if (await missing(name)) wanted.push(name);
  if (wanted.length === 0) return null;
  try {
    await aptUpdate(softly);
    await aptInstall(softly, wanted);
    return null;
  } catch {
    return `${wanted.join(' and ')} can't be had here: install ${wanted.length > 1 ? 'them' : 'it'}`;
  }
}
