import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { program } from '../../cli/program.ts';
import { checkout } from '../../scripts/stack/paths.ts';
import { freshDatabase } from '../database.ts';
import { waitUntil } from '../sql/verbs.ts';
import { tock, tockProcess } from './tock.ts';

/** Every command without subcommands, as a user types it. */
function commands(of: Command, path = ''): string[] {
  return of.commands.flatMap((command) => {
    const name = `${path}${command.name()}`;
    return command.commands.length > 0 ? commands(command, `${name} `) : [name];
  });
}

test('every command has a description', () => {
  expect(commands(program()).length).toBeGreaterThan(50);
  const undescribed = (of: Command): string[] =>
    of.commands.flatMap((command) => [
      ...(command.description() ? [] : [command.name()]),
      ...undescribed(command),
    ]);
  expect(undescribed(program())).toEqual([]);
});

test('`complete -- LEASE` runs the command, not the shell completion', async () => {
  const lease = '00000001-0000-4000-8000-000000000001';
  const env = { DATABASE_URL: 'postgres://t:word@127.0.0.1:1/x' };
  expect(await tock(['complete', '--', lease], { env })).toMatchObject({ code: 4 });
});

test('every command that a hint names exists', () => {
  const names = commands(program());
  const folders = ['sql', 'cli', 'migrate', 'functions', 'client', 'dashboard', 'monitoring'];
  const files = folders.flatMap((folder) =>
    readdirSync(join(checkout, folder), { recursive: true })
      .map((file) => join(checkout, folder, `${file}`))
      .filter((file) => /\.(sql|tsx?|yaml)$/.test(file) && !/built.ts$|push.secret.ts$/.test(file)),
  );
  const named = files.flatMap((file) => {
    const text = readFileSync(file, 'utf8').replace(/^ *(--|\/\/|\*|\/\*\*).*/gm, '');
    // Matches `tock` only as a command that the text tells a user to type, not as the schema or the role.
    const typed = /(?<=[:;,'"`(] ?|\bor |\band |: |—)tock ([a-z-]+)(?: ([a-z-]+)( %)?)?/g;
    return [...text.matchAll(typed)].map((match) => ({ found: match, file }));
  });
  expect(named.length).toBeGreaterThan(40);
  // A placeholder (%) is an argument, so the word before it must be a whole command.
  const isOne = ([, first = '', second, filled]: RegExpExecArray) =>
    names.includes(`${first} ${second}`) || (names.includes(first) && !filled);
  const wrong = named.filter(({ found: match }) => !isOne(match));
  expect(wrong.map(({ found: match, file }) => `${file}: ${match[0]}`)).toEqual([]);
});

test('a shell completes commands, subcommands and options', async () => {
  const offers = async (...typed: string[]) => {
    const { out } = await tockProcess(['__complete', ...typed]);
    return out.split('\n').map((line) => line.split('\t')[0]);
  };
  expect(await offers('sta')).toEqual(expect.arrayContaining(['status']));
  expect(await offers('queue', 'pa')).toEqual(expect.arrayContaining(['pause']));
  expect(await offers('tasks', '--uni')).toEqual(expect.arrayContaining(['--unique-key']));
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { out, code } = await tockProcess(['completion', shell]);
    expect([code, out]).toEqual([0, expect.stringContaining('tock __complete ')]);
    if (!existsSync(`/bin/${shell}`)) continue;
    // The shell itself checks the syntax.
    const { status, stderr } = spawnSync(`/bin/${shell}`, ['-n'], { input: out });
    expect([status, `${stderr}`]).toEqual([0, '']);
  }
  // Completes as bash does on Tab, without the package bash-completion. The script is sourced twice.
  const main = join(checkout, 'cli', 'main.ts');
  const tab = `tock() { ${process.execPath} ${main} "$@"; }
    eval "$(tock completion bash)"; eval "$(tock completion bash)"
    compopt() { :; }  # outside of a real Tab it fails
    COMP_WORDS=(tock queue pa) COMP_CWORD=2; __tock_complete; echo "\${COMPREPLY[*]}"`;
  const typed = spawnSync('/bin/bash', ['--norc', '-c', tab]);
  expect([`${typed.stderr}`, `${typed.stdout}`]).toEqual(['', 'pause\n']);
  expect(await tock(['completion', 'tcsh'])).toMatchObject({ code: 2 });
});

test('uninstall lists what it will drop, drops it, and a migration installs it again', async () => {
  const db = await freshDatabase();
  try {
    const env = { DATABASE_URL: db.url };
    const client = await db.connect();
    await client.query("select tock.enqueue('mail', '[{}]')");
    const dry = await tock(['uninstall', '--dry-run'], { env });
    expect(dry.out).toMatch(new RegExp(`Database ${db.name}:\n.*all of its 1 queue,`));
    const unasked = await tockProcess(['uninstall'], { env });
    expect(unasked).toMatchObject({ code: 2, err: expect.stringContaining('--yes') });
    expect((await client.query('select tock.queue_stats()')).rowCount).toBe(1);
    await client.query('begin; lock tock.queues in access share mode');
    const waiting = tock(['uninstall', '--yes', '--json'], { env });
    const waits = `select from pg_locks where not granted
      and database = (select oid from pg_database where datname = current_database())`;
    await waitUntil(
      'it waits for who is at work',
      async () => (await client.query(waits)).rowCount,
    );
    await client.query('rollback');
    expect(await waiting).toMatchObject({ code: 0, out: expect.stringContaining(`"${db.name}"`) });
    const left = await client.query("select to_regnamespace('tock') as schema");
    expect(left.rows).toEqual([{ schema: null }]);
    // The roles stay, because other databases of this cluster use them.
    const roles = await client.query(
      "select count(*)::int as n from pg_roles where rolname like 'tock\\_%er'",
    );
    expect(roles.rows[0].n).toBeGreaterThan(0);
    expect(await tock(['uninstall', '--yes'], { env })).toMatchObject({ code: 3 });
    expect(await tock(['migrate'], { env })).toMatchObject({ code: 0, err: '' });
    expect(await tock(['enqueue', 'mail', '1'], { env })).toMatchObject({ code: 0 });
  } finally {
    await db.drop();
  }
});

test('up prepares a database and prints the next steps', async () => {
  const db = await freshDatabase('template0');
  try {
    const { code, out } = await tock(['up', '--json'], { env: { DATABASE_URL: db.url } });
    const { key, applied } = JSON.parse(out);
    expect([code, applied.length > 5, key]).toEqual([0, true, expect.stringMatching(/^tock_/)]);
    expect(await tock(['enqueue', 'hello', '1'], { env: { DATABASE_URL: db.url } })).toMatchObject({
      code: 0,
    });
  } finally {
    await db.drop();
  }
});
