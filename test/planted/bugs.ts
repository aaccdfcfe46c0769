import { inArchives } from './archives.ts';
import { claimAny } from './claim_any.ts';
import { claimOwn } from './claim_own.ts';
import { claims } from './claims.ts';
import { clients } from './clients.ts';
import { clientsInSql } from './clients_sql.ts';
import { consumers } from './consumers.ts';
import { deaths } from './deaths.ts';
import { doctors } from './doctors.ts';
import { doors } from './doors.ts';
import { edges } from './edges.ts';
import { ends } from './ends.ts';
import { epochs } from './epochs.ts';
import { inExamples } from './examples.ts';
import { exported } from './exports.ts';
import { gateLocks } from './gate_locks.ts';
import { gateRetries } from './gate_retries.ts';
import { atGates } from './gates.ts';
import { guards } from './guards.ts';
import { guides } from './guides.ts';
import { history } from './history.ts';
import { hots } from './hot.ts';
import { hotEnds } from './hot_ends.ts';
import { inputs } from './inputs.ts';
import { keys } from './keys.ts';
import { limits } from './limits.ts';
import { looks } from './looks.ts';
import { marks } from './marks.ts';
import { minds } from './minds.ts';
import { inModel } from './modelled.ts';
import { asked } from './options.ts';
import { afterOthers } from './parents.ts';
import { pipelines } from './pipelines.ts';
import { poolLines } from './pool_lines.ts';
import { pools } from './pools.ts';
import { told } from './progress.ts';
import { pushes } from './pushes.ts';
import { schedules } from './schedules.ts';
import { shown } from './shown.ts';
import { spawns } from './spawns.ts';
import { streams } from './streams.ts';
import { tortures } from './tortures.ts';
import { traces } from './traces.ts';
import { wishes } from './wishes.ts';
import { writes } from './writes.ts';

/** A mistake in a file of sql/, client/, functions/ or examples/, and the test that must fail with it. */
export type Bug = {
  name: string;
  /** Below sql/, or with client/, functions/ or examples/ before it. */
  file: string;
  /** Each place that is found is replaced; none found is an error. */
  find: string | RegExp;
  /** {inside} stands for what the first group of `find` matched. */
  replace: string;
  /** Below test/, and the test's name or its beginning. */
  caught: [file: string, test: string];
};

export const bugs: Bug[] = [
  ...writes,
  ...afterOthers,
  ...claims,
  ...claimAny,
  ...clients,
  ...consumers,
  ...clientsInSql,
  ...hots,
  ...inArchives,
  ...inputs,
  ...epochs,
  ...ends,
  ...hotEnds,
  ...guards,
  ...keys,
  ...spawns,
  ...streams,
  ...marks,
  ...exported,
  ...traces,
  ...wishes,
  ...minds,
  ...doctors,
  ...doors,
  ...edges,
  ...asked,
  ...atGates,
  ...gateLocks,
  ...gateRetries,
  ...history,
  ...inModel,
  ...told,
  ...limits,
  ...looks,
  ...shown,
  ...guides,
  ...pipelines,
  ...pools,
  ...pushes,
  ...deaths,
  ...poolLines,
  ...claimOwn,
  ...schedules,
  ...inExamples,
  ...tortures,
];
