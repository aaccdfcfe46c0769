import type pg from 'pg';

/** The database that the model is compared with. */
export type ModelDatabase = { client: pg.Client };
