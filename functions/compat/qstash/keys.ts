import type { Bindings } from '../../env.ts';
import { refusal } from '../../http/problem.ts';
import { masterSecrets } from '../../push/secret.ts';
import { expectOk, type Handler, json } from './call.ts';
import { PUBLISHED } from './names.ts';
import { openQueue } from './queues.ts';
import { type SigningKeys, signingKeys } from './sign.ts';

const path = `/v1/queues/${PUBLISHED}/push-secret`;

const answer = ({ current, next }: SigningKeys) => json({ current, next });

export const getKeys: Handler = async ({ tock, env }) => {
  await openQueue(tock, PUBLISHED);
  const { generation } = expectOk(await tock('GET', path));
  return answer(await signingKeys(env, generation));
};

/** The next key signs from now on. Receivers that have the pair of before know it. */
export const rotateKeys: Handler = async ({ tock, env }) => {
  refuseTwoSecrets(env);
  await openQueue(tock, PUBLISHED);
  const { generation } = expectOk(await tock('POST', `${path}/rotate`, { overlap_seconds: 0 }));
  return answer(await signingKeys(env, generation));
};

/** While TOCK_PUSH_SECRET changes, the next key is that of the new secret. */
function refuseTwoSecrets(env: Bindings): void {
  if (masterSecrets(env).length > 1)
    throw refusal(409, 'TOCK_PUSH_SECRET is being changed: remove the old secret first.');
}
