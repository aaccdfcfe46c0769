import { DBOS } from 'dbos';
import { payload } from '../payload.ts';
import { loops, serve } from './serve.ts';

const result = JSON.parse(payload(100));

/** Workflows of DBOS in this process, with so many steps each. */
await serve<{ steps: number }>(async ({ url, clients, options }) => {
  DBOS.setConfig({
    name: 'bench',
    // Each process is an executor of its own, or it would take over what the other one does.
    executorID: `bench-${process.pid}`,
    systemDatabaseUrl: url,
    systemDatabasePoolSize: clients,
    logLevel: 'error',
    runAdminServer: false,
  });
  const flow = DBOS.registerWorkflow(
    async () => {
      for (let n = 1; n <= options.steps; n++)
        await DBOS.runStep(async () => result, { name: `step ${n}` });
    },
    { name: 'flow' },
  );
  await DBOS.launch();
  return {
    turns: clients,
    run: (barrier) =>
      loops(clients, barrier, async () => {
        await flow();
        return 1;
      }),
  };
});
