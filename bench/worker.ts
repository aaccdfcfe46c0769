import { connect } from '../functions/database/connect.ts';
import { createApp } from '../functions/http/app.ts';
import { bearerKey } from '../functions/http/authorize.ts';

const app = createApp(connect);

// What a request costs that asks the database for next to nothing, through the same doors.
app.get('/bench/select1', async (c) => {
  bearerKey(c.req.header('authorization'));
  const [row] = await connect(c.env, (query) => query('select 1 as one'));
  return c.json(row);
});

/** The Worker as it is, and a route to compare it with. */
export default { fetch: app.fetch };
