import type { Bug } from './bugs.ts';

const guard = 'routines/17_guard.sql';
const doctorWaits = 'routines/65_doctor_waits.sql';
const waits = 'sql/doctor-waits.test.ts';
const behind: Bug['caught'] = ['faults/sequence.test.ts', 'with the sequence set back,'];
const sleeping: Bug['caught'] = ['faults/sequence.test.ts', 'a sequence behind streams that sleep'];
const cached: Bug['caught'] = ['faults/sequence.test.ts', 'a sequence that caches positions'];
const promoted: Bug['caught'] = ['faults/standby.test.ts', 'a promoted standby gives out no id'];
const pausing: Bug['caught'] = [
  'faults/point-in-time.test.ts',
  'a queue that pauses after a restore',
];

/** The sequence behind what is stored; restore, failover, branch. */
export const guards: Bug[] = [
  {
    name: 'a stream is opened whatever the sequence says',
    file: 'routines/16_streams.sql',
    find: 'perform tock.check_sequence(greatest(v_newest, tock.newest_run(v_number)));',
    replace: '',
    caught: behind,
  },
  {
    name: 'ids of what waits are given out unlooked at',
    file: 'routines/16_streams.sql',
    find: 'perform tock.check_sequence(coalesce((select p.position from tock.promotions p order by p.position desc limit 1), 0));',
    replace: '',
    caught: behind,
  },
  {
    name: 'a stream falls asleep without its end noted',
    file: 'routines/16_streams.sql',
    find: /awake = false, start_after = greatest\(s\.start_after, coalesce\(\([^;]*?limit 1\), 0\)\)(?=\s*where s\.number = any)/,
    replace: 'awake = false',
    caught: sleeping,
  },
  {
    name: 'the guard looks only whether the server changed',
    file: guard,
    find: 'if v_highest > v_reached or (v_seen <> v_identity and v_seen <> 0) then',
    replace: 'if v_seen <> v_identity and v_seen <> 0 then',
    caught: sleeping,
  },
  {
    name: 'a cached sequence is taken for good',
    file: 'routines/16_streams.sql',
    find: /or \(pg_catalog\.pg_sequence_parameters\('tock\.positions'::regclass\)\)\.cache_size <> 1/,
    replace: '',
    caught: cached,
  },
  {
    name: 'the guard leaves a cached sequence as it is',
    file: guard,
    find: "execute 'alter sequence tock.positions cache 1';",
    replace: '',
    caught: cached,
  },
  {
    name: 'an id that was promoted is given to another task',
    file: 'routines/22_append.sql',
    find: 'perform tock.check_new_ids(v_ids);',
    replace: '',
    caught: ['faults/sequence.test.ts', 'a sequence set back and caught up within a call'],
  },
  {
    name: 'an epoch that is over takes tasks again',
    file: guard,
    find: /and not exists \(\s*select from tock\.epochs e\s*where \(e\.started_at[^;]*?\+ 1\)/,
    replace: '',
    caught: ['faults/sequence.test.ts', 'a sequence set back into an epoch that is over'],
  },
  {
    name: 'doctor says nothing of a sequence that is behind',
    file: 'routines/66_doctor.sql',
    find: 'where s.highest > s.last_value',
    replace: 'where false',
    caught: ['faults/sequence.test.ts', 'doctor says that a sequence is behind'],
  },
  {
    name: 'doctor is not told that a parent has died',
    file: 'routines/55_parents_watch.sql',
    find: "and not x.held_up and o.state in ('dead', 'cancelled', 'expired');",
    replace: 'and false;',
    caught: [waits, 'a task that waits for a dead one'],
  },
  {
    name: 'doctor takes all who wait for a parent as held up',
    file: 'routines/55_parents_watch.sql',
    find: "o.upto, o.state in ('dead', 'cancelled', 'expired')",
    replace: 'o.upto, true',
    caught: [waits, 'a task that waits for a cancelled one'],
  },
  {
    name: 'doctor reads all who wait for a dead parent',
    file: doctorWaits,
    find: 'x.position = v_position limit 1000) x',
    replace: 'x.position = v_position) x',
    caught: [waits, 'of many that wait a thousand'],
  },
  {
    name: 'doctor says nothing of tasks that nobody takes',
    file: doctorWaits,
    find: "where o.since < pg_catalog.clock_timestamp() - interval '10 minutes'",
    replace: "where o.since < pg_catalog.clock_timestamp() - interval '1 day'",
    caught: [waits, 'a task that nobody takes'],
  },
  {
    name: 'doctor looks at a pool once',
    file: doctorWaits,
    find: 'for v_look in 1 .. 3 loop',
    replace: 'for v_look in 1 .. 1 loop',
    caught: [waits, 'between two tasks of a worker'],
  },
  {
    name: 'doctor says nothing of workers that nobody lets go',
    file: doctorWaits,
    find: 'where l.leased_until < v_late);',
    replace: 'where false);',
    caught: [waits, 'workers that are past their end'],
  },
  {
    name: 'the first call after a promotion goes unguarded',
    file: 'routines/10_base.sql',
    find: 'perform tock.guard_now();',
    replace: 'null;',
    caught: promoted,
  },
  {
    name: 'a server goes by its system identifier alone',
    file: guard,
    find: 'pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8),',
    replace: '',
    caught: promoted,
  },
  {
    name: "the timeline is the last checkpoint's",
    file: guard,
    find: 'pg_catalog.left(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8),',
    replace: '(select k.timeline_id from pg_catalog.pg_control_checkpoint() k),',
    caught: promoted,
  },
  {
    name: 'a jump goes just above what is stored',
    file: guard,
    find: 'greatest(v_reached, v_highest) + 1048576',
    replace: 'greatest(v_reached, v_highest) + 1',
    caught: promoted,
  },
  {
    name: 'a restart is taken for a restore',
    file: guard,
    find: "'tock'::regnamespace::oid, pg_catalog",
    replace: "'tock'::regnamespace::oid, pg_catalog.pg_postmaster_start_time(), pg_catalog",
    caught: ['faults/standby.test.ts', 'a server killed and started again is the same one'],
  },
  {
    name: 'a dump restored beside its source is not told apart',
    file: guard,
    find: "'tock'::regnamespace::oid, pg_catalog",
    replace: 'pg_catalog',
    caught: ['faults/restore.test.ts', 'a dump restored into another database of its own'],
  },
  {
    name: "Neon's branches are not told apart",
    file: guard,
    find: ", pg_catalog.current_setting('neon.timeline_id', true)",
    replace: '',
    caught: ['faults/point-in-time.test.ts', "a branch of Neon's is another server"],
  },
  {
    name: 'a restored queue goes by its own row alone',
    file: 'routines/30_claim.sql',
    find: 'if tock.is_paused(v_policy) then',
    replace: 'if v_policy.paused then',
    caught: pausing,
  },
  {
    name: 'what was noticed in a transaction that is rolled back goes unreported',
    file: guard,
    find: /or \(\s*select r\.detail ->> 'identity'[^;]*?is distinct from v_identity::text/,
    replace: '',
    caught: pausing,
  },
  {
    name: 'a jump leads past the last epoch',
    file: guard,
    find: 'perform tock.make_epochs_to(v_target + 1048576);',
    replace: '',
    caught: ['faults/identity.test.ts', 'a jump past the end of the last epoch'],
  },
  {
    name: 'an empty sslmode is one',
    file: 'functions/database/tls.ts',
    find: " || modes.some((mode) => mode !== 'disable')",
    replace: '',
    caught: ['cli/connect.test.ts', 'to another host with '],
  },
  {
    name: "the host of TLS is not pg's",
    file: 'functions/database/tls.ts',
    find: 'own.test(host)',
    replace: 'own.test(URL.canParse(url) ? new URL(url).hostname : host)',
    caught: ['cli/connect.test.ts', 'the host is the one that is connected to'],
  },
];
