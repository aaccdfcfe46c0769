import { withClient } from './roles.ts';

/** The stored key if the database still knows it, otherwise a new one with every scope. */
export async function devKey(ownerUrl: string, stored?: string): Promise<string> {
  return withClient(ownerUrl, async (client) => {
    if (stored) {
      const check = 'select tock.authorize(p_key => $1, p_scope => $2) as allowed';
      const isKnown = await client.query(check, [stored, 'admin']).then(
        ({ rows }) => rows[0]?.allowed === true,
        () => false,
      );
      if (isKnown) return stored;
    }
    const { rows } = await client.query(
      'select key from tock.create_key(p_name => $1, p_scopes => $2)',
      ['dev', ['enqueue', 'claim', 'read', 'admin']],
    );
    return rows[0].key;
  });
}
