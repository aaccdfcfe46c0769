import type pg from 'pg';
import { Failure } from '../failure.ts';
import { ask } from './ask.ts';

export type Archived = {
  enabled: boolean;
  prefix: string;
  waiting: number;
  oldest_waiting_at: string | null;
  exported: number;
  files: number;
  rows: number;
  bytes: number;
  erasures_pending: number;
  objects_unwanted: number;
  last_step_at: string | null;
  failures: number;
  failed_at: string | null;
  last_error: string | null;
};
export type Step = { rows: number; bytes: number; deleted: number; erased: number; more: boolean };
export type Ended = { epoch: number; settled_at: string | null; why: string | null };
export type Found = {
  id: string;
  queue: string;
  state: string;
  tenant: string | null;
  attempt: number;
  ended_at: string | null;
  created_at: string;
  worker: string | null;
  error: string | null;
};
export type Asked = {
  queue: string;
  state?: string | undefined;
  tenant?: string | undefined;
  unique_key?: string | undefined;
  worker?: string | undefined;
  error?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
};

/** History in object storage: who steps, and who looks into files, is a Worker. */
export type Archive = {
  archive(): Promise<Archived>;
  putArchive(settings: object): Promise<void>;
  endEpoch(): Promise<Ended>;
  stepArchive(): Promise<Step>;
  searchArchive(
    asked: Asked,
    cursor: string | null,
    limit: number,
  ): Promise<{ tasks: Found[]; cursor: string | null }>;
};

type Call = {
  found<T>(route: string, body?: string): Promise<T>;
  query(options: Record<string, unknown>): string;
};

export function httpArchive({ found, query }: Call): Archive {
  return {
    archive: () => found('GET /v1/archive'),
    putArchive: (settings) => found('PUT /v1/archive', JSON.stringify(settings)),
    endEpoch: () => found('POST /v1/archive/end'),
    stepArchive: () => found('POST /v1/archive/step', '{}'),
    searchArchive: (asked, cursor, limit) =>
      found(`GET /v1/archive/tasks?${query({ ...asked, cursor, limit })}`),
  };
}

function overHttp(): never {
  const next = 'Give --url and --key: the Worker has the store.';
  throw new Failure('The archive lies in a store that SQL does not reach.', next, 2);
}

export function sqlArchive(client: pg.Client): Archive {
  return {
    async archive() {
      const sql = 'select row_to_json(a) as archive from tock.archive() a';
      return (await ask<{ archive: Archived }>(client, sql))[0]?.archive as Archived;
    },
    async putArchive(settings) {
      // On without a store it would only keep history from being dropped.
      if ((settings as { enabled?: boolean }).enabled) overHttp();
      await ask(client, 'select tock.put_archive(p_settings => $1)', [settings]);
    },
    async endEpoch() {
      const sql = 'select row_to_json(e) as ended from tock.end_epoch() e';
      return (await ask<{ ended: Ended }>(client, sql))[0]?.ended as Ended;
    },
    stepArchive: async () => overHttp(),
    searchArchive: async () => overHttp(),
  };
}
