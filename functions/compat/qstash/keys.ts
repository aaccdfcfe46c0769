import { refusal } from '../../http/problem.ts';
import { masterSecrets } from '../../push/secret.ts';
import type { CallTock } from '../adapter.ts';
import { expectOk } from '../calls.ts';
import { type Handler, json } from './call.ts';
import { PUBLISHED } from './names.ts';
import { openQueue } from './queues.ts';
import { signingKeys } from './sign.ts';

const path = `/v1/queues/${PUBLISHED}/push-secret`;

/** The generation of the keys that a call returns. It is stored with a queue, which may not be there yet. */
async function generationAfter(tock: CallTock, call: () => ReturnType<CallTock>): Promise<number> {
  let answer = await call();
  if (answer.status === 404) {
    await openQueue(tock, PUBLISHED);
    answer = await call();
  }
  return expectOk(answer).generation;
}

export const getKeys: Handler = async ({ tock, env }) => {
  const generation = await generationAfter(tock, () => tock('GET', path));
  return json(await signingKeys(env, generation));
};

/** The next key signs from now on. Receivers that have the pair of before know it. */
export const rotateKeys: Handler = async ({ tock, env }) => {
  if (masterSecrets(env).length > 1) {
    // While TOCK_PUSH_SECRET changes, the next key is that of the new secret. The call checks the key.
    await generationAfter(tock, () => tock('GET', path));
    throw refusal(409, 'TOCK_PUSH_SECRET is being changed: remove the old secret first.');
  }
  const rotate = () => tock('POST', `${path}/rotate`, { overlap_seconds: 0 });
  return json(await signingKeys(env, await generationAfter(tock, rotate)));
};
