// Creates the schema of the peer that BENCH_WORK names, with the peer's own package.
const { url, name } = JSON.parse(process.env.BENCH_WORK ?? '{}');

if (name === 'graphile-worker') {
  const { runMigrations } = await import('graphile-worker');
  await runMigrations({ connectionString: url });
} else if (name === 'dbos') {
  const { DBOS } = await import('dbos');
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: url,
    logLevel: 'error',
    runAdminServer: false,
  });
  await DBOS.launch();
  await DBOS.shutdown();
} else {
  const { PgBoss } = await import('pg-boss');
  const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false });
  await boss.start();
  await boss.stop({ graceful: false, close: true });
}
process.exit(0);
