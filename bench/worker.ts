import { connect } from '../functions/database/connect.ts';
import { createApp } from '../functions/http/app.ts';
import { bearerKey } from '../functions/http/authorize.ts';

const app = createApp(connect);

// A route with a minimal query, to measure the cost of a request on the same path.
app.get('/bench/select1', async (c) => {
  bearerKey(c.req.header('authorization'));
  const [row] = await connect(c.env, (query) => query('select 1 as one'));
  return c.json(row);
});

/** The Worker as deployed, with a route for comparison. */
export default { fetch: app.fetch };
