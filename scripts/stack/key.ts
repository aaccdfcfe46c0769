import { withClient } from './roles.ts';

/** The kept key when the database still knows it, else a new one with every scope. */
export async function devKey(ownerUrl: string, kept?: string): Promise<string> {
  return withClient(ownerUrl, async (client) => {
    if (kept) {
      const check = 'select tock.authorize(p_key => $1, p_scope => $2) as allowed';
      const known = await client.query(check, [kept, 'admin']).then(
        ({ rows }) => rows[0]?.allowed === true,
        () => false,
      );
      if (known) return kept;
    }
    const { rows } = await client.query(
      'select key from tock.create_key(p_name => $1, p_scopes => $2)',
      ['dev', ['enqueue', 'claim', 'read', 'admin']],
    );
    return rows[0].key;
  });
}
