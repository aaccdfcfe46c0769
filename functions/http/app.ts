import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { methodNotAllowed } from 'hono/method-not-allowed';
import { requestId } from 'hono/request-id';
import { cloudflare } from '../compat/cloudflare/adapter.ts';
import { mountCompat } from '../compat/mount.ts';
import { qstash } from '../compat/qstash/adapter.ts';
import { sqs } from '../compat/sqs/adapter.ts';
import type { FreeConsumer } from '../consumers/hand_over.ts';
import type { Connect } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { archive } from '../routes/archive.ts';
import { auditLog } from '../routes/audit_log.ts';
import { bulkChanges } from '../routes/bulk_changes.ts';
import { changes } from '../routes/changes.ts';
import { children } from '../routes/children.ts';
import { claim } from '../routes/claim.ts';
import { clearing } from '../routes/clearing.ts';
import { concurrency_keys } from '../routes/concurrency_keys.ts';
import { dashboard } from '../routes/dashboard.ts';
import { doctor } from '../routes/doctor.ts';
import { events } from '../routes/events.ts';
import { explain } from '../routes/explain.ts';
import { health } from '../routes/health.ts';
import { keys } from '../routes/keys.ts';
import { leases } from '../routes/leases.ts';
import { limits } from '../routes/limits.ts';
import { links } from '../routes/links.ts';
import { listing } from '../routes/listing.ts';
import { maintenance } from '../routes/maintenance.ts';
import { metrics } from '../routes/metrics.ts';
import { moves } from '../routes/moves.ts';
import { openLeases } from '../routes/open_leases.ts';
import { openapi } from '../routes/openapi.ts';
import { overview } from '../routes/overview.ts';
import { pages } from '../routes/pages.ts';
import { parents } from '../routes/parents.ts';
import { pools } from '../routes/pools.ts';
import { push } from '../routes/push.ts';
import { queues } from '../routes/queues.ts';
import { reruns } from '../routes/reruns.ts';
import { schedules } from '../routes/schedules.ts';
import { series } from '../routes/series.ts';
import { stats } from '../routes/stats.ts';
import { steps } from '../routes/steps.ts';
import { tasks } from '../routes/tasks.ts';
import { tick } from '../routes/tick.ts';
import { whoami } from '../routes/whoami.ts';
import { type Hub, LocalHub } from '../waiting/hub.ts';
import type { Rights } from './authorize.ts';
import { cors } from './cors.ts';
import type { App, Env } from './endpoint.ts';
import { problem, refusal } from './problem.ts';
import { securityHeaders } from './security_headers.ts';

const taskRoutes = [
  tasks,
  parents,
  children,
  changes,
  moves,
  reruns,
  bulkChanges,
  listing,
  whoami,
  openLeases,
  maintenance,
  explain,
  claim,
  leases,
  steps,
  events,
  pools,
];
const adminRoutes = [
  queues,
  push,
  schedules,
  concurrency_keys,
  limits,
  clearing,
  keys,
  auditLog,
  tick,
  stats,
  series,
  overview,
  links,
  metrics,
  archive,
  doctor,
  health,
  dashboard,
  pages,
  openapi,
];

const MAX_URL = 8192;

/** Limits the URL only: the server (Cloudflare, workerd, Node) limits the headers. */
function refuseLongUrl({ length }: string): void {
  if (length > MAX_URL) throw refusal(414, `The URL is longer than ${MAX_URL} characters.`);
}
/** The path for an error message, truncated if it is longer than any route. */
const displayPath = (c: Context<Env>) =>
  c.req.path.length > 500 ? `${c.req.path.slice(0, 500)}…` : c.req.path;

const isOneProcess = (c: Context<Env>) => c.env?.TOCK_ONE_PROCESS === '1';

/** Called after each call that has changed something, and after each that a change woke, before the response is sent. */
export type OnChange = (c: Context<Env>) => void;

export type AppOptions = {
  onChange?: OnChange;
  /** The program's code chooses them, never a request or a binding. */
  rights?: Rights;
  /** Where waiting calls wait. Without a hub they poll. */
  hubOf?(env: Bindings): Hub | null;
  /** The consumer that is free to take the tasks of this call. */
  freeConsumerOf?(c: Context<Env>): FreeConsumer | null;
};

/** Creates the HTTP API on a database connection. */
export function createApp(
  connect: Connect,
  {
    onChange = () => {},
    rights = 'key',
    hubOf = () => null,
    freeConsumerOf = () => null,
  }: AppOptions = {},
): App {
  const app: App = new OpenAPIHono<Env>();
  const ownHub = new LocalHub();
  function announce(c: Context<Env>): void {
    const [changes, passOn] = [c.get('changes'), c.get('passOn')];
    if (isOneProcess(c)) {
      if (passOn) ownHub.passOn(passOn);
      if (changes !== undefined) ownHub.announce(changes);
    }
    if (changes !== undefined || passOn) onChange(c);
  }
  app.onError(problem);
  app.notFound((c) => {
    const hint = 'GET /openapi.json lists the routes.';
    return problem(refusal(404, `There is no route ${displayPath(c)}.`, { hint }), c);
  });
  app.use(requestId());
  app.use(async (c, next) => {
    c.set('rights', rights);
    c.set('hub', isOneProcess(c) ? ownHub : hubOf(c.env ?? {}));
    c.set('reserveConsumer', () => freeConsumerOf(c));
    c.set('announce', () => announce(c));
    await next();
    c.get('freeConsumer')?.release();
  });
  app.use(securityHeaders);
  app.use(cors);
  app.use(async (c, next) => {
    refuseLongUrl(c.req.url);
    await next();
    if (!c.res.ok) c.set('changes', undefined);
    announce(c);
  });
  mountCompat(app, [cloudflare, sqs, qstash]);
  app.use(
    methodNotAllowed({
      app,
      onMethodNotAllowed: (c, methods) => {
        const headers = { Allow: methods.join(', ') };
        const hint = `Use ${headers.Allow}.`;
        return problem(
          refusal(405, `${displayPath(c)} does not accept ${c.req.method}.`, { hint, headers }),
          c,
        );
      },
    }),
  );
  for (const route of [...taskRoutes, ...adminRoutes]) route(app, connect);
  return app;
}
