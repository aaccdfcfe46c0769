import { attempt } from './run.ts';

/** True if a Docker engine answers with its version. The client alone would also answer, without an engine. */
export async function dockerAnswers(seconds = 5): Promise<boolean> {
  try {
    const { code, output } = await attempt(['docker', 'info', '--format', '{{.ServerVersion}}'], {
      signal: AbortSignal.timeout(seconds * 1000),
      stopWith: 'SIGKILL',
    });
    return code === 0 && /^\d/m.test(output);
  } catch {
    return false;
  }
}
