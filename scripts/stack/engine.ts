import { attempt } from './run.ts';

/** Whether a Docker engine answers; the client alone answers too, but with nothing behind it. */
export async function dockerAnswers(seconds = 5): Promise<boolean> {
  try {
    const { code, out } = await attempt(['docker', 'info', '--format', '{{.ServerVersion}}'], {
      signal: AbortSignal.timeout(seconds * 1000),
      stopWith: 'SIGKILL',
    });
    return code === 0 && /^\d/m.test(out);
  } catch {
    return false;
  }
}
