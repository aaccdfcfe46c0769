import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { methodNotAllowed } from 'hono/method-not-allowed';
import { requestId } from 'hono/request-id';
import type { Connect } from '../database/types.ts';
import { acts } from '../routes/acts.ts';
import { archive } from '../routes/archive.ts';
import { changes } from '../routes/changes.ts';
import { claim } from '../routes/claim.ts';
import { clearing } from '../routes/clearing.ts';
import { dashboard } from '../routes/dashboard.ts';
import { doctor } from '../routes/doctor.ts';
import { gates } from '../routes/gates.ts';
import { health } from '../routes/health.ts';
import { keys } from '../routes/keys.ts';
import { leases } from '../routes/leases.ts';
import { limits } from '../routes/limits.ts';
import { listing } from '../routes/listing.ts';
import { looks } from '../routes/looks.ts';
import { metrics } from '../routes/metrics.ts';
import { moves } from '../routes/moves.ts';
import { openapi } from '../routes/openapi.ts';
import { overview } from '../routes/overview.ts';
import { parents } from '../routes/parents.ts';
import { pools } from '../routes/pools.ts';
import { push } from '../routes/push.ts';
import { queues } from '../routes/queues.ts';
import { reruns } from '../routes/reruns.ts';
import { schedules } from '../routes/schedules.ts';
import { series } from '../routes/series.ts';
import { stats } from '../routes/stats.ts';
import { tasks } from '../routes/tasks.ts';
import { tick } from '../routes/tick.ts';
import type { Rights } from './authorize.ts';
import { cors } from './cors.ts';
import type { App, Env } from './endpoint.ts';
import { problem, refusal } from './problem.ts';
import { securityHeaders } from './security_headers.ts';

const work = [tasks, parents, changes, moves, reruns, listing, looks, claim, leases, pools];
const rule = [
  queues,
  push,
  schedules,
  gates,
  limits,
  clearing,
  keys,
  acts,
  tick,
  stats,
  series,
  overview,
  metrics,
  archive,
  doctor,
  health,
  dashboard,
  openapi,
];

const reading = ['GET', 'HEAD', 'OPTIONS'];

const MOST_ADDRESS = 8192;

/** Headers are bounded by what serves the app: Cloudflare, workerd, Node. */
function refuseLong({ length }: string): void {
  if (length > MOST_ADDRESS) throw refusal(414, `An address is up to ${MOST_ADDRESS} characters.`);
}
/** The path, cut where it is longer than any of ours. */
const shown = (c: Context<Env>) =>
  c.req.path.length > 500 ? `${c.req.path.slice(0, 500)}…` : c.req.path;

/** Hears of each call that has changed something, before its answer goes out. */
export type Changed = (c: Context<Env>) => void;

/** The HTTP door; `connect` is its way to the database. Only code says by whose rights it acts, no request and no binding. */
export function createApp(
  connect: Connect,
  changed: Changed = () => {},
  rights: Rights = 'key',
): App {
  const app: App = new OpenAPIHono<Env>();
  app.onError(problem);
  app.notFound((c) => {
    const hint = 'GET /openapi.json lists the routes.';
    return problem(refusal(404, `There is no ${shown(c)}.`, { hint }), c);
  });
  app.use(requestId());
  app.use(async (c, next) => {
    c.set('rights', rights);
    await next();
  });
  app.use(securityHeaders);
  app.use(cors);
  app.use(async (c, next) => {
    refuseLong(c.req.url);
    await next();
    if (c.res.ok && !reading.includes(c.req.method)) changed(c);
  });
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, methods) => {
        const headers = { Allow: methods.join(', ') };
        const hint = `It takes ${headers.Allow}.`;
        return problem(refusal(405, `${shown(c)} takes no ${c.req.method}.`, { hint, headers }), c);
      },
    }),
  );
  for (const route of [...work, ...rule]) route(app, connect);
  return app;
}
