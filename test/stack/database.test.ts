import { expect, test } from 'vitest';
import { cronDatabase } from '../database.ts';

test("pg_cron runs in its own database and the owner has only a customer's rights there", async () => {
  const database = await cronDatabase();
  try {
    const client = await database.connect();
    const { rows } = await client.query(`
      select rolsuper or rolcreatedb as mighty, has_schema_privilege('cron', 'usage') as usage,
             has_schema_privilege('cron', 'create') as creates
        from pg_roles where rolname = current_user`);
    expect(rows[0]).toEqual({ mighty: false, usage: true, creates: false });
  } finally {
    await database.drop();
  }
});
