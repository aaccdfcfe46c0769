import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pooling } from '../../cli/diagnosis.ts';
import { connect } from '../../functions/database/connect.ts';
import { withDatabase } from '../../migrate/connect.ts';
import { migrate } from '../../migrate/migrate.ts';
import { withClient } from '../../scripts/stack/roles.ts';
import { softly } from '../../scripts/stack/step_reporter.ts';
import { type TestCluster, testCluster } from '../../scripts/stack/test_cluster.ts';
import { waitUntil } from '../sql/verbs.ts';
import { makeSampleSql } from './sample_sql.ts';

const folder = mkdtempSync(join(tmpdir(), 'tock-tls-'));
const ca = join(folder, 'ca.pem');
let made: TestCluster;
let place: string;

/** Creates a CA, and a certificate of this CA for the name localhost. */
function makeCertificates(): { key: string; certificate: string } {
  const run = (line: string) =>
    execFileSync('openssl', line.split(' '), { cwd: folder, stdio: 'pipe' });
  writeFileSync(join(folder, 'names'), 'subjectAltName=DNS:localhost\n');
  run('req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.pem');
  run('req -newkey rsa:2048 -nodes -subj /CN=localhost -keyout own.key -out own.csr');
  run(
    'x509 -req -in own.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out own.pem',
  );
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  return { key: read('own.key'), certificate: read('own.pem') };
}

/** Changes the server's settings so that it accepts only connections with TLS. */
async function requireTls({ cluster: { host, data, url } }: TestCluster): Promise<void> {
  const { key, certificate } = makeCertificates();
  await host.write(`${data}/server.key`, key);
  await host.write(`${data}/server.crt`, certificate);
  await withClient(url(), (client) => client.query('alter system set ssl = on'));
  await host.write(`${data}/pg_hba.conf`, 'hostssl all all all scram-sha-256\n');
  await withClient(url(), (client) => client.query('select pg_reload_conf()'));
}

const url = (sslmode: string, host = 'localhost') =>
  `postgres://tock:${made.passwords.owner}@${host}:${place}?sslmode=${sslmode}`;
const trusted = () => `${url('verify-full')}&sslrootcert=${ca}`;
const isByTls = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';

beforeAll(async () => {
  made = await testCluster('tock', softly);
  place = `${made.cluster.port}/tock`;
  await requireTls(made);
  await waitUntil('it takes TLS', () => canUse(trusted()));
});
afterAll(async () => {
  await made?.close();
  rmSync(folder, { recursive: true });
});

const used = (to: string) => withDatabase(to, async (client) => (await client.query(isByTls)).rows);
const canUse = (to: string) =>
  used(to).then(
    () => true,
    () => false,
  );

test("with verify-full and the CA the command line and the Worker's driver connect by TLS", async () => {
  expect(await used(trusted())).toEqual([{ ssl: true }]);
  const connection = connect({ DATABASE_URL: trusted(), TOCK_DRIVER: 'pg' }, (query) =>
    query(isByTls),
  );
  expect(await connection).toEqual([{ ssl: true }]);
  expect(await pooling(trusted())).toEqual([]);
});

test('verify-full refuses a certificate of an unknown CA or for another name', async () => {
  await expect(used(url('verify-full'))).rejects.toThrow(/certificate.*\n.*sslrootcert=/s);
  const byAddress = `${url('verify-full', '127.0.0.1')}&sslrootcert=${ca}`;
  await expect(used(byAddress)).rejects.toThrow(/altnames.*\n.*Use the host name/s);
  expect(await used(url('no-verify', '127.0.0.1'))).toEqual([{ ssl: true }]);
});

test('a server that requires TLS refuses a connection without it', async () => {
  await expect(used(url('disable'))).rejects.toThrow(/no pg_hba.conf entry.*no encryption/);
});

test('the check for blockers connects by TLS too', async () => {
  const lines: string[] = [];
  await withDatabase(trusted(), async (stuck) => {
    await stuck.query("begin; select pg_advisory_xact_lock(hashtextextended('tock:migrate', 0))");
    const log = (line: string) => lines.push(line);
    const migrated = migrate(trusted(), { directory: makeSampleSql(), log });
    await expect.poll(() => lines.join()).toMatch(/Waiting for process \d+ \(tock/);
    await stuck.query('rollback');
    expect((await migrated).applied).toHaveLength(1);
  });
});
