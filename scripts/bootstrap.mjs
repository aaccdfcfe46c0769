// Installs the packages of package-lock.json, then runs the given TypeScript file with Node 24. It is plain JavaScript
// that runs on Node 20 without node_modules. Usage: node scripts/bootstrap.mjs <file> [arguments]
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const binaries = (folder) => join(folder, 'node_modules', '.bin');
// The lock file in this folder pins the hash of Node's binary for each system. The npm package "node" would fetch the
// binary without checking a hash.
const newerNode = join(root, 'scripts', 'node');
const forwarded = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const say = (text) => process.stdout.write(`${text}\n`);
const pause = (seconds) => new Promise((wake) => setTimeout(wake, seconds * 1000));

function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

/** True if all packages are installed. npm writes .package-lock.json last, so an incomplete installation differs. */
function installed(folder) {
  const wanted = read(join(folder, 'package-lock.json'))?.packages ?? {};
  const present = read(join(folder, 'node_modules', '.package-lock.json'))?.packages;
  if (!present) return false;
  const same = ([path, { version, integrity, optional }]) => {
    const installedPackage = present[path];
    return installedPackage
      ? installedPackage.version === version && installedPackage.integrity === integrity
      : optional;
  };
  return Object.entries(wanted).every((entry) => entry[0] === '' || same(entry));
}

function run(program, args, options, onOutput) {
  return new Promise((done) => {
    const child = spawn(program, args, options);
    const pass = (signal) => child.kill(signal);
    for (const signal of forwarded) process.on(signal, pass);
    const watch = watchNpm(() => child.kill('SIGTERM'));
    child.stdout?.on('data', onOutput);
    child.stderr?.on('data', onOutput);
    const end = (code, signal) => {
      clearInterval(watch);
      for (const name of forwarded) process.off(name, pass);
      done({ code: code ?? 128 + (constants.signals[signal] ?? 0), signal });
    };
    child.on('error', (error) => {
      onOutput?.(`${error.message}\n`);
      end(127);
    });
    child.on('close', end);
  });
}

/** A process with its start time, because pids are reused; null if there is none. */
function mark(pid) {
  try {
    if (process.platform !== 'linux') return process.kill(pid, 0) && `${pid}`;
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return `${pid} ${stat.slice(stat.lastIndexOf(')')).split(' ')[20]}`;
  } catch {
    return null;
  }
}

/** The pid of the npm that runs this script, directly or through a shell. */
function npmAbove() {
  let pid = process.ppid;
  for (let level = 0; level < 2 && pid > 1; level++) {
    try {
      if (readFileSync(`/proc/${pid}/comm`, 'utf8').startsWith('npm')) return pid;
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      pid = Number(stat.slice(stat.lastIndexOf(')')).split(' ')[2]);
    } catch {
      return 0;
    }
  }
  return 0;
}

/** Checks whether npm still runs, because an npm that is killed or gets a SIGHUP does not stop its children. */
function watchNpm(onGone) {
  const pid = npmAbove();
  const born = pid && mark(pid);
  return setInterval(() => born && mark(pid) !== born && onGone(), 500);
}

/** Installs a folder's packages and returns an exit code. In a checkout only one process installs at a time. */
async function alone(folder) {
  const lock = join(root, '.tock', 'install.lock');
  mkdirSync(dirname(lock), { recursive: true });
  for (let waited = false; ; waited = true) {
    try {
      writeFileSync(lock, mark(process.pid), { flag: 'wx' });
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
      const holder = existsSync(lock) ? readFileSync(lock, 'utf8') : '';
      if (holder && mark(Number.parseInt(holder, 10)) !== holder) rmSync(lock, { force: true });
      else if (!waited) say(`Another command is installing (process ${holder}): waiting for it.`);
      await pause(0.2);
    }
  }
  try {
    return installed(folder) ? 0 : await install(folder);
  } finally {
    rmSync(lock, { force: true });
  }
}

async function install(folder) {
  const count = Object.keys(read(join(folder, 'package-lock.json'))?.packages ?? {}).length - 1;
  const why = existsSync(join(folder, 'node_modules'))
    ? 'node_modules does not match package-lock.json'
    : 'First run';
  const what =
    folder === root ? `${count} npm packages (npm ci), about a minute` : 'Node 24 (npm ci)';
  say(`${why}: installing ${what} ...`);
  const started = Date.now();
  const seconds = () => Math.round((Date.now() - started) / 1000);
  const progress = setInterval(() => say(`  still installing after ${seconds()} s`), 10_000);
  let output = '';
  const npm = process.env.npm_execpath;
  const [program, before] = npm ? [process.execPath, [npm]] : ['npm', []];
  const args = [...before, 'ci', '--no-audit', '--no-fund', '--loglevel=error'];
  if (folder !== root) args.push('--ignore-scripts');
  const options = { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] };
  const { code, signal } = await run(program, args, options, (text) => {
    output += text;
  });
  clearInterval(progress);
  if (signal) return 128 + constants.signals[signal];
  if (code !== 0) {
    say(output.trimEnd().split('\n').slice(0, 30).join('\n'));
    say(`npm ci failed with code ${code}. Correct the error above, then repeat the command.`);
  } else say(`  installed in ${seconds()} s`);
  return code;
}

/** The Node that runs TypeScript directly: the current one if it is new enough, else the one from npm. */
async function node() {
  if (Number(process.versions.node.split('.')[0]) >= 24) return process.execPath;
  const failed = installed(newerNode) ? 0 : await alone(newerNode);
  if (failed) process.exit(failed);
  const program = join(binaries(newerNode), 'node');
  if (existsSync(program)) return program;
  say('Node 24 is required, and npm has no binary for this system. Install it.');
  process.exit(1);
}

const [file, ...args] = process.argv.slice(2);
if (!file) {
  say('Usage: node scripts/bootstrap.mjs <file.ts> [arguments]');
  process.exit(2);
}
const failed = installed(root) ? 0 : await alone(root);
if (failed) process.exit(failed);
const program = await node();
const path = [binaries(root), dirname(program), process.env.PATH].join(delimiter);
const options = { stdio: 'inherit', env: { ...process.env, PATH: path, TOCK_PARENT: process.pid } };
// The Worker imports built modules, which are not in the repository.
const built = ['dashboard', 'errors'].map((folder) => join(root, 'functions', folder, 'built.ts'));
if (!built.every((path) => existsSync(path))) {
  const { code } = await run(program, [join(root, 'scripts/modules/build.ts')], options);
  if (code !== 0) process.exit(code);
}
const { code } = await run(program, [resolve(root, file), ...args], options);
process.exit(code);
