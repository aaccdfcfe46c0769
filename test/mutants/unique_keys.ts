import type { Mutant } from './mutants.ts';

/** Unique keys. */
export const uniqueKeys: Mutant[] = [
  {
    name: 'two first callers both take a key',
    in: 'tock.append_round',
    find: 'v_number is null and (select max(k.number) … > 1',
    replace: 'false',
    caught: [
      'sql/features/unique_keys/unique-keys-races.test.ts',
      'eight callers with one key add one task',
    ],
  },
  {
    name: 'a key is taken that another call has just taken',
    in: 'tock.append_round',
    find: 'and k.created_at = v_key.created_at; if not found then v_from := v_n; exit; end if;',
    replace: 'and k.created_at = v_key.created_at;',
    caught: [
      'sql/features/unique_keys/unique-keys-races.test.ts',
      'eight callers with one key add one task',
    ],
  },
  {
    name: 'a key is free while its task runs',
    in: 'tock.counts',
    find: "or (tock.key_policy(p_task) in ('unfinished', 'period') and p_state = 'running')",
    replace: '',
    caught: [
      'sql/features/unique_keys/unique-keys.test.ts',
      'a key returns its first task until that task ends',
    ],
  },
  {
    name: 'a key is held after death',
    in: 'tock.counts',
    find: "p_state in ('waiting', 'ready')",
    replace: "p_state in ('waiting', 'ready', 'dead')",
    caught: ['sql/features/unique_keys/unique-keys.test.ts', 'after death'],
  },
  {
    name: 'an older change counts',
    in: 'tock.append_round',
    find: 'v_older := coalesce(v_changed_at <= v_key.changed_at, false);',
    replace: 'v_older := false;',
    caught: [
      'sql/features/unique_keys/newest-payload.test.ts',
      'runs once more after its end, with the newest payload',
    ],
  },
  {
    name: 'keys are locked in the order of the call',
    in: 'tock.append_unique',
    find: 'pg_catalog.array_agg(r.task order by r.unique_key, r.n)',
    replace: 'pg_catalog.array_agg(r.task order by r.n)',
    caught: [
      'sql/features/unique_keys/unique-keys-races.test.ts',
      'calls with many keys each, in any order, do not deadlock',
    ],
  },
  {
    name: 'the task that was replaced runs too',
    in: 'tock.append_round',
    find: "if v_cancelled <> '{}' then perform tock.cancel(v_cancelled); end if; if v_ns <>",
    replace: 'if v_ns <>',
    caught: [
      'sql/features/unique_keys/unique-keys-races.test.ts',
      'eight callers that replace a ready task',
    ],
  },
  {
    name: 'keys are taken under an old snapshot',
    in: 'tock.append_unique',
    find: "if v_keyed > 0 and pg_catalog.current_setting('transaction_isolation') <> 'read committed' then",
    replace: 'if false then',
    caught: ['sql/features/unique_keys/unique-keys.test.ts', 'a key is refused in'],
  },
];
