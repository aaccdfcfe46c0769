import type pg from 'pg';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';

/** The database of the running test, with a session of its owner. */
export let db: Database;
export let client: pg.Client;

const used: Database[] = [];

async function open(): Promise<void> {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
}

const drop = () => Promise.all(used.map((database) => database.drop()));

export function databasePerFile(): void {
  beforeAll(open);
  afterAll(drop);
}

export function databasePerTest(): void {
  beforeEach(open);
  afterAll(drop);
}
