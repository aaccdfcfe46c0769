import type { Bug } from './bugs.ts';

const queues = 'routines/65_doctor_queues.sql';
const glance = 'routines/65_doctor_glance.sql';
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
    name: 'doctor minds a tenant alone in its lane',
    file: queues,
    find: 'l.tenants > 1 and ',
    replace: '',
    caught: [inQueues, 'a tenant alone in its lane'],
  },
  {
    name: 'doctor overlooks what ends its worker while it is at work',
    file: glance,
    find: 'v_from := v_lease.after_position;',
    replace: 'null;',
    caught: [inQueues, 'a task that has lost three workers'],
  },
  {
    name: 'doctor counts all that is ready',
    file: glance,
    find: 'order by r.stream, r.position limit 200',
    replace: 'order by r.stream, r.position',
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
    file: 'functions/http/clock_skew.ts',
    find: 'Math.max(before - there, 0) || Math.min(after - there, 0)',
    replace: 'before - there',
    caught: ['http/doctor.test.ts', 'so is the clock of the machine'],
  },
  {
    name: 'doctor looks at leases of streams that are awake alone',
    file: queues,
    find: 'not tock.somebody_leases(q.queue) and ',
    replace: '',
    caught: [inQueues, 'so is one with a limit'],
  },
  {
    name: 'doctor takes a retry for a task that has been ready since it was enqueued',
    file: queues,
    find: ' and not tock.just_promoted(q.ready_run, q.since)',
    replace: '',
    caught: [inQueues, 'a task that waited for long'],
  },
  {
    name: 'doctor takes a delayed task for one that has been ready since it was enqueued',
    file: glance,
    find: 'where p.position = f.task_id >> 20 and f.attempt = 1',
    replace: 'where false',
    caught: [inQueues, 'a task that waited for long'],
  },
  {
    name: 'doctor wants cancelled tasks to be claimed',
    file: glance,
    find: "m.kind in ('cancelled', 'superseded')",
    replace: 'false',
    caught: [inQueues, 'tasks that were cancelled'],
  },
  {
    name: 'doctor takes a long backlog for a queue that nobody pushes',
    file: queues,
    find: ' and coalesce(q.active_at < q.since, true)',
    replace: '',
    caught: ['sql/push.test.ts', 'doctor() names queues whose tasks nobody sends'],
  },
  {
    name: 'doctor warns of duties that nothing waits for',
    file: 'routines/66_doctor.sql',
    find: "      then 'warning' else 'note' end,",
    replace: "      then 'warning' else 'warning' end,",
    caught: ['sql/doctor.test.ts', 'a duty that is late or fails'],
  },
  {
    name: 'doctor gives pg_cron no time after the server has started',
    file: 'routines/66_doctor.sql',
    find: ', case when c.runs then pg_catalog.pg_postmaster_start_time() end)',
    replace: ')',
    caught: [inCluster, 'a server that has just started'],
  },
  {
    name: 'doctor takes what a restart ended for a job that pg_cron can not run',
    file: 'routines/65_doctor_cron.sql',
    find: " and f.return_message <> 'server restarted'",
    replace: '',
    caught: [inCluster, 'a job that pg_cron could not run'],
  },
  {
    name: 'doctor takes any key for one of two numbers',
    file: 'routines/64_doctor_sessions.sql',
    find: 'and l.objsubid = 2',
    replace: '',
    caught: ['sql/doctor.test.ts', "a lock of Tock's that is no call's"],
  },
  {
    name: 'who holds locks in an open transaction is no stranger',
    file: 'routines/64_doctor_sessions.sql',
    find: ' or l.pid not in (select u.pid from users u)',
    replace: '',
    caught: ['sql/doctor.test.ts', "a lock of Tock's that is no call's"],
  },
];
