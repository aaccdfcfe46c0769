import { attempt } from './run.ts';

/** Whether a Docker engine answers; the client alone also answers, without an engine. */
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
