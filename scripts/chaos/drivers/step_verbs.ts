import type { Args, Spelled } from './spelled.ts';

const savedStep = `'name', d.name, 'state', d.state, 'result', d.result, 'error', d.error, 'due_at', d.due_at`;

/** The verbs of durable steps. */
export const stepVerbs = {
  'save steps': ({ lease, steps }: Args): Spelled => ({
    http: ['POST', `/v1/leases/${lease}/steps`, { steps }],
    sql: [
      `select json_agg(json_build_object(${savedStep}, 'cancel_requested', d.cancel_requested)) as steps
       from tock.save_steps(p_lease => $1, p_steps => $2) d having bool_or(d.state <> 'lost')`,
      lease,
      JSON.stringify(steps),
    ],
    none: 409,
  }),
  'read steps': ({ lease, id }: Args): Spelled => ({
    http: ['GET', `/v1/leases/${lease}/steps?id=${id}`],
    sql: [
      `select s.steps from (select tock.lease_steps(p_lease => $1, p_id => $2) as steps) s
       where s.steps is not null`,
      lease,
      id,
    ],
    none: 409,
  }),
  signal: ({ event, payload, request_id }: Args): Spelled => ({
    http: ['POST', '/v1/events', { event, payload, request_id }],
    sql: [
      'select accepted, woken from tock.signal(p_event => $1, p_payload => $2, p_request_id => $3)',
      event,
      JSON.stringify(payload),
      request_id,
    ],
  }),
  'task steps': ({ id }: Args): Spelled => ({
    http: ['GET', `/v1/tasks/${id}/steps`],
    sql: ['select count(*) from tock.task_steps(p_id => $1)', id],
  }),
};
