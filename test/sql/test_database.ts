import type pg from 'pg';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';

/** Of the file whose tests run: one database, or another for each test, with its owner's session. */
export let db: Database;
export let client: pg.Client;

const used: Database[] = [];

async function open(): Promise<void> {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
}

const drop = () => Promise.all(used.map((one) => one.drop()));

/** All tests of a file share a database. */
export function databasePerFile(): void {
  beforeAll(open);
  afterAll(drop);
}

/** Each test of a file has a database to itself. */
export function databasePerTest(): void {
  beforeEach(open);
  afterAll(drop);
}
