/**
 * What `npm test` leaves to `npm test -- --all`. A new test file is quick unless a pattern here takes it: put it here
 * when it takes more than about five seconds of a quiet core.
 */
export const slow = [
  // Other places, other versions, programs from start to end.
  'test/{bench,cron,demo,examples,faults,fuzz,stack,torture,upgrade,ways}/*.test.ts',
  // Load, races and size, wherever they are.
  'test/**/*{-load,-races,-large,-many,-repeats,flat,plans,stress}.test.ts',
  // The browser and workerd are met once each: by dashboard/pages and worker/worker.
  'test/dashboard/{actions,edges,late}.test.ts',
  'test/worker/{archive,bundle,edges}.test.ts',
  'test/client/{bundle,kills,leases,readme}.test.ts',
  'test/consumers/{alarm,drain,readme,ring,worker}.test.ts',
  'test/push/{drain,readme,workerd}.test.ts',
  'test/docs/{deploy,seeds,supply}.test.ts',
  'test/cli/{export,migrate,migrate-together,migrate-refusals,package,tls,work}.test.ts',
  'test/http/claim-state.test.ts',
  'test/archive/{archive,chains,faults,lives,s3}.test.ts',
  'test/sql/{after-open,after-told,attempts,cron-library,doctor-cluster,epochs,gate-order,hot-ends,large,lease-parts,leaves,let-go,locks,marks-open,marks-passing,move-up,overtaken,roles-cluster,roles-hostile,schedules-held,streams,unique-held}.test.ts',
];
