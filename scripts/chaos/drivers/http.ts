import { caller } from '../../../client/call.ts';
import { TockError } from '../../../client/errors.ts';
import type { Driver, OnOutcome } from './driver.ts';
import { verbs } from './verbs.ts';

/** Calls Tock with the client's own transport, without retries: the load decides what to repeat. */
export function httpDriver(url: string, defaultKey: string, onOutcome: OnOutcome): Driver {
  return {
    transactions: false,
    async attempt(verb, args) {
      const { http } = verbs[verb](args);
      const [method, path, body] = http;
      let outcome = 'lost';
      // A plain text with status 5xx comes from workerd or its proxy, which is stopping. It is no answer of Tock.
      const fetched = async (input: string, init: RequestInit) => {
        const response = await fetch(input, init);
        const json = response.headers.get('content-type')?.includes('json');
        if (json) return response;
        outcome =
          response.status >= 500 ? `lost, ${response.status} of workerd` : `${response.status}`;
        throw new Error(`workerd answers ${await response.text()}`);
      };
      const key = typeof args.key === 'string' ? args.key : defaultKey;
      const call = caller({ url, key, fetch: fetched, timeout_seconds: 10, retries: 0 });
      try {
        const { wait_seconds, isNew: hasNewRequestId } = args;
        const answer = await call<object>(method, path, body, { wait_seconds, hasNewRequestId });
        onOutcome(verb, '200', '');
        return { status: 200, body: answer };
      } catch (error) {
        if (!(error instanceof TockError)) throw error;
        const { status, message } = error;
        onOutcome(verb, status > 0 ? String(status) : outcome, message.slice(0, 300));
        return status > 0 ? { status, body: {} } : null;
      }
    },
    close: async () => {},
  };
}
