import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { methodNotAllowed } from 'hono/method-not-allowed';
import { requestId } from 'hono/request-id';
import { limitBody } from './body.ts';
import type { App, Env } from './endpoint.ts';
import { origins } from './origins.ts';
import { problem, refusal } from './problem.ts';
import type { Connect } from './query.ts';
import { acts } from './routes/acts.ts';
import { changes } from './routes/changes.ts';
import { claim } from './routes/claim.ts';
import { clearing } from './routes/clearing.ts';
import { doctor } from './routes/doctor.ts';
import { gates } from './routes/gates.ts';
import { health } from './routes/health.ts';
import { keys } from './routes/keys.ts';
import { leases } from './routes/leases.ts';
import { limits } from './routes/limits.ts';
import { listing } from './routes/listing.ts';
import { moves } from './routes/moves.ts';
import { openapi } from './routes/openapi.ts';
import { parents } from './routes/parents.ts';
import { pools } from './routes/pools.ts';
import { push } from './routes/push.ts';
import { queues } from './routes/queues.ts';
import { reruns } from './routes/reruns.ts';
import { schedules } from './routes/schedules.ts';
import { stats } from './routes/stats.ts';
import { tasks } from './routes/tasks.ts';
import { tick } from './routes/tick.ts';

const work = [tasks, parents, changes, moves, reruns, listing, claim, leases, pools];
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
  doctor,
  health,
  openapi,
];

const reading = ['GET', 'HEAD', 'OPTIONS'];

/** Hears of each call that has changed something, before its answer goes out. */
export type Changed = (c: Context<Env>) => void;

/** The HTTP door; `connect` is its way to the database. */
export function createApp(connect: Connect, changed: Changed = () => {}): App {
  const app: App = new OpenAPIHono<Env>();
  app.onError(problem);
  app.notFound((c) => {
    const hint = 'GET /openapi.json lists the routes.';
    return problem(refusal(404, `There is no ${c.req.path}.`, { hint }), c);
  });
  app.use(requestId());
  app.use(origins);
  app.use(async (c, next) => {
    await next();
    c.header('Cache-Control', 'no-store');
    c.header('X-Content-Type-Options', 'nosniff');
    if (c.res.ok && !reading.includes(c.req.method)) changed(c);
  });
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, methods) => {
        const headers = { Allow: methods.join(', ') };
        const hint = `It takes ${headers.Allow}.`;
        return problem(
          refusal(405, `${c.req.path} takes no ${c.req.method}.`, { hint, headers }),
          c,
        );
      },
    }),
  );
  app.use(limitBody);
  for (const route of [...work, ...rule]) route(app, connect);
  return app;
}
