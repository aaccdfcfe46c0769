import { createApp } from '../functions/app.ts';
import { bearerKey } from '../functions/authorize.ts';
import { connect } from '../functions/query.ts';

const app = createApp(connect);

// What a request costs that asks the database for next to nothing, through the same doors.
app.get('/bench/select1', async (c) => {
  bearerKey(c.req.header('authorization'));
  const [row] = await connect(c.env, (query) => query('select 1 as one'));
  return c.json(row);
});

/** The Worker as it is, and a route to compare it with. */
export default { fetch: app.fetch };
