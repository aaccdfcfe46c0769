import type { Bug } from './bugs.ts';

const queues = 'routines/65_doctor_queues.sql';
const inQueues = 'sql/doctor-queues.test.ts';
const inCluster = 'sql/doctor-cluster.test.ts';

/** What the doctor overlooks, or says where nothing is wrong. */
export const doctors: Bug[] = [
  {
    name: 'doctor fails where a part of it does',
    file: 'routines/66_doctor.sql',
    find: 'exception when others then',
    replace: 'exception when division_by_zero then',
    caught: ['sql/doctor.test.ts', 'what a part of the doctor can not look at'],
  },
  {
    name: 'doctor waits for a lock as long as it takes',
    file: 'routines/66_doctor.sql',
    find: "set lock_timeout = '2s'",
    replace: "set lock_timeout = '0'",
    caught: ['sql/doctor.test.ts', 'what a part of the doctor can not look at'],
  },
  {
    name: 'doctor shows the values of a statement',
    file: 'routines/64_doctor_sessions.sql',
    find: "'^\\s*([A-Za-z]\\w*(\\s+[A-Za-z_][\\w.]*){0,3})'",
    replace: "'^(.*)$'",
    caught: ['sql/doctor.test.ts', 'a long transaction is shown'],
  },
  {
    name: 'doctor calls a queue deserted while somebody is at work',
    file: queues,
    find: 'and not q.at_work',
    replace: '',
    caught: [inQueues, 'a queue is found from which nobody'],
  },
  {
    name: 'doctor minds a tenant alone in its lane',
    file: queues,
    find: 'l.tenants > 1 and ',
    replace: '',
    caught: [inQueues, 'a tenant alone in its lane'],
  },
  {
    name: 'doctor overlooks what ends its worker while it is at work',
    file: queues,
    find: 'v_from := v_lease.after_position;',
    replace: 'null;',
    caught: [inQueues, 'a task that has lost three workers'],
  },
  {
    name: 'doctor counts all that is ready',
    file: queues,
    find: 'order by r.stream, r.position limit 200) n',
    replace: 'order by r.stream, r.position) n',
    caught: [inQueues, 'no part of it scans'],
  },
  {
    name: 'doctor says nothing of jobs that are switched off',
    file: 'routines/65_doctor_cron.sql',
    find: "when not j.active then 'is switched off'",
    replace: '',
    caught: [inCluster, "jobs of pg_cron's that are missing"],
  },
  {
    name: "doctor looks at the owner's sessions alone",
    file: 'routines/65_doctor_horizon.sql',
    find: 'a.usesysid is not null',
    replace: 'a.usename = current_user',
    caught: [inCluster, 'who holds vacuum back'],
  },
  {
    name: 'doctor takes a slow call for a clock that differs',
    file: 'functions/clocks.ts',
    find: 'Math.max(before - there, 0) || Math.min(after - there, 0)',
    replace: 'before - there',
    caught: ['http/doctor.test.ts', 'so is the clock of the machine'],
  },
];
