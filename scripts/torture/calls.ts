import { caller, type Method } from '../../client/call.ts';
import { TockError } from '../../client/errors.ts';
import { pause } from '../soak/clock.ts';

export type Answered<T> = { answer: T } | { status: number; detail: string };

/** One try of a call: its answer, or the status of its refusal, 0 where none came. */
export function openCalls(url: string, key: string) {
  const call = caller({ url, key, retries: 0, timeout_seconds: 20 });
  async function once<T>(
    method: Method,
    path: string,
    body?: object,
    request_id?: string,
  ): Promise<Answered<T>> {
    try {
      return { answer: await call<T>(method, path, body, { request_id }) };
    } catch (error) {
      if (!(error instanceof TockError)) throw error;
      return { status: error.status, detail: error.message };
    }
  }
  return {
    once,
    /** As a client does it: until there is an answer, or a refusal that would be given again. */
    async repeated<T>(
      method: Method,
      path: string,
      body?: object,
      request_id?: string,
      going: () => boolean = () => true,
    ): Promise<Answered<T>> {
      for (let tries = 1; ; tries++) {
        const said = await once<T>(method, path, body, request_id);
        if ('answer' in said || (said.status !== 0 && said.status !== 503)) return said;
        if (!going() || tries > 200) return said;
        await pause(Math.min(1000, 50 * tries) * (0.5 + Math.random() / 2));
      }
    },
  };
}

export type Calls = ReturnType<typeof openCalls>;
