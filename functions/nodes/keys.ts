import type { Answer } from '../http/answer.ts';
import { refusal } from '../http/problem.ts';
import type { RoutedCall, Run } from './call.ts';
import { onEach } from './every.ts';
import type { Router } from './router.ts';

// The statement of the first node has checked the key of the call.
const copySql = 'select tock_nodes.copy_key(p_key => $1::jsonb, p_overlap_seconds => $2) as copied';
const revokeSql = 'select tock.revoke_key(p_prefix => $1) as revoked';

/** True if the directory has no function that copies a key. */
const cannotCopy = (error: unknown) =>
  /^(42883|3F000)$/.test((error as { code?: string }).code ?? '');

/** Makes a key on the first node, and copies it with its secret to the others. If that fails, the key is revoked. */
export async function makeKeyOnEach(
  router: Router,
  call: RoutedCall,
  run: Run<RoutedCall>,
): Promise<Answer> {
  const answers = await onEach(
    router,
    async ({ query }, made) => {
      if (!made) return run(query, call);
      await query(copySql, [made.body, call.body.overlap_seconds ?? null]).catch((error) => {
        if (!cannotCopy(error)) throw error;
        throw refusal(409, 'The directory of nodes cannot copy keys.', {
          hint: 'Migrate the nodes, and run tock nodes init again.',
        });
      });
      return made;
    },
    ({ query }, made) => query(revokeSql, [JSON.parse(made?.body ?? '{}').prefix]),
  );
  return answers.find(({ answer }) => answer)?.answer;
}
