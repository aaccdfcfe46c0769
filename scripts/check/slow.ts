/**
 * The tests that only `npm test -- --all` runs. A new test file is quick unless a pattern here matches it. Add a file
 * that takes more than about five seconds on a quiet core.
 */
export const slow = [
  // Other platforms, other versions, whole programs.
  'test/{bench,cron,demo,drivers,examples,faults,fuzz,stack,torture,upgrade}/*.test.ts',
  // Load, races and size, in any folder.
  'test/**/*{-load,-races,-large,-many,-repeats,flat,plans,stress}.test.ts',
  // Quick runs use the browser only in dashboard/pages, and workerd only in worker/worker.
  'test/dashboard/{actions,all-matching,audit-log,axe,bulk-changes,counts,diagnoses,edges,empty-lists,focus}.test.ts',
  'test/dashboard/{forms,groups,lists,overview,schedules,shell,steps,task,variables,workers}.test.ts',
  'test/nodes/{chaos,failover}.test.ts',
  'test/waiting/{one-process,workerd}.test.ts',
  'test/worker/{archive,bundle,edges}.test.ts',
  'test/client/{bundle,guide,kills,leases}.test.ts',
  'test/consumers/{alarm,alarm-cycle,drain,guide,hand-over,worker}.test.ts',
  'test/push/{drain,guide,workerd}.test.ts',
  'test/docs/{blocks,deploy,quickstarts,seeds,supply}.test.ts',
  'test/mutants/renamed.test.ts',
  'test/openapi/openapi.test.ts',
  'test/cli/{bulk-changes,changes,claim-several,export,http,listings,migrate,migrate-refusals}.test.ts',
  'test/cli/{migrate-together,package,package-client,program,project,tls,work}.test.ts',
  'test/http/{claim-state,promtool,stalled-bodies,wait-for-end}.test.ts',
  'test/compat/*/client*.test.ts',
  'test/archive/{archive,end-segment,faults,gaps,s3,steps,task-histories}.test.ts',
  'test/sql/features/dependencies/{notified,open-completions}.test.ts',
  'test/sql/read/attempts.test.ts',
  'test/sql/features/schedules/{cron-library,locked-schedules}.test.ts',
  'test/sql/operations/{piggyback,doctor/cluster,doctor/waits}.test.ts',
  'test/sql/kernel/segment/{partitions,segments}.test.ts',
  'test/sql/features/concurrency/order.test.ts',
  'test/sql/kernel/finish/{end-lease,lease-parts}.test.ts',
  'test/sql/{large-payloads,roles-cluster,roles-hostile}.test.ts',
  'test/sql/kernel/retention/{many-runs,prepare-drop}.test.ts',
  'test/sql/kernel/locks.test.ts',
  'test/sql/kernel/change/{open-cancels,skip-overridden,stream-locks}.test.ts',
  'test/sql/kernel/log/{cursors,streams}.test.ts',
  'test/sql/features/unique_keys/locked-keys.test.ts',
  'test/sql/features/bulk_changes/background.test.ts',
];
