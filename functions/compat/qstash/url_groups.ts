import { z } from '@hono/zod-openapi';
import { refusal } from '../../http/problem.ts';
import type { CallTock } from '../adapter.ts';
import { expectOk } from '../calls.ts';
import { type Call, done, type Handler, json, readObject, unlessMissing } from './call.ts';
import { checkUrl } from './destination.ts';
import { GROUP_PREFIX, PUBLISHED, tockGroup } from './names.ts';
import { listSchedulesOf } from './schedules.ts';
import { time } from './view.ts';

const endpoint = z.object({
  name: z.string().min(1).max(200).optional(),
  url: z.string().refine((text) => URL.canParse(text)),
});
const stored = z.object({ endpoints: z.array(endpoint) });
export type Endpoint = z.output<typeof endpoint>;

const MAX_ENDPOINTS = 100;
/** A URL group is a schedule that never fires: Tock has no other place that a key may write to. */
const NEVER = '9999-12-31T00:00:00Z';
const noGroup = (name: string) => refusal(404, `URL group ${name.slice(0, 100)} not found`);

type Group = { payload: unknown; created_at: string; updated_at: string };

/** A URL group as QStash answers it; null for a schedule that is none. */
function view(name: string, schedule: Group | null) {
  const { data } = stored.safeParse(schedule?.payload);
  if (!data || !schedule) return null;
  const { created_at, updated_at } = schedule;
  return { name, ...data, createdAt: time(created_at), updatedAt: time(updated_at) };
}

const read = async (tock: CallTock, name: string) =>
  view(name, unlessMissing(await tock('GET', `/v1/schedules/${tockGroup(name)}`)));

/** The endpoints of a URL group; refuses an unknown one. */
export async function endpointsOf(tock: CallTock, name: string): Promise<Endpoint[]> {
  const group = await read(tock, name);
  if (!group) throw noGroup(name);
  return group.endpoints;
}

/** The endpoints in a body, each with a name or a URL. */
async function readEndpoints<E extends z.ZodType>(call: Call, schema: E): Promise<z.output<E>[]> {
  const body = z.object({ endpoints: z.array(schema).min(1).max(MAX_ENDPOINTS) });
  const { data } = body.safeParse(await readObject(call));
  if (data) return data.endpoints;
  throw refusal(400, `endpoints: 1 to ${MAX_ENDPOINTS}, each with a URL, or a name to remove it`);
}

const isSame = (a: Partial<Endpoint>, b: Partial<Endpoint>) =>
  (a.name !== undefined && a.name === b.name) || (a.url !== undefined && a.url === b.url);

async function write(tock: CallTock, name: string, endpoints: Endpoint[]): Promise<void> {
  if (endpoints.length > MAX_ENDPOINTS)
    throw refusal(400, `endpoints: a URL group has at most ${MAX_ENDPOINTS}`);
  const settings = { queue: PUBLISHED, run_at: NEVER, payload: { endpoints } };
  expectOk(await tock('PUT', `/v1/schedules/${tockGroup(name)}`, settings));
}

export const addEndpoints: Handler = async (call, name = '') => {
  const added = await readEndpoints(call, endpoint);
  for (const { url } of added) checkUrl('endpoints: url', url, call.env);
  const before = (await read(call.tock, name))?.endpoints ?? [];
  const kept = before.filter((old) => !added.some((other) => isSame(old, other)));
  await write(call.tock, name, [...kept, ...added]);
  return done();
};

export const removeEndpoints: Handler = async (call, name = '') => {
  const removed = await readEndpoints(call, endpoint.partial());
  const before = await endpointsOf(call.tock, name);
  const kept = before.filter((old) => !removed.some((other) => isSame(old, other)));
  if (kept.length > 0) await write(call.tock, name, kept);
  else expectOk(await call.tock('DELETE', `/v1/schedules/${tockGroup(name)}`));
  return done();
};

export const getGroup: Handler = async ({ tock }, name = '') => {
  const group = await read(tock, name);
  if (!group) throw noGroup(name);
  return json(group);
};

export const listGroups: Handler = async ({ tock }) => {
  const groups = await listSchedulesOf<Group>(tock, GROUP_PREFIX);
  return json(groups.flatMap(([name, group]) => view(name, group) ?? []));
};

export const deleteGroup: Handler = async ({ tock }, name = '') => {
  if (unlessMissing(await tock('DELETE', `/v1/schedules/${tockGroup(name)}`)) === null)
    throw noGroup(name);
  return done();
};
