import { createHash } from 'node:crypto';
import {
  GenericContainer,
  getContainerRuntimeClient,
  type StartedTestContainer,
  Wait,
} from 'testcontainers';
import type { Host, HostOptions } from './host.ts';
import { image } from './image.ts';
import { home } from './paths.ts';

const folder = '/var/lib/tock';
const label = 'tock.volume';

/** A container that publishes its ports only on 127.0.0.1, which testcontainers does not offer. */
class LocalContainer extends GenericContainer {
  protected override async beforeContainerCreated(): Promise<void> {
    for (const bindings of Object.values(this.hostConfig.PortBindings ?? {})) {
      for (const binding of bindings as { HostIp?: string }[]) binding.HostIp = '127.0.0.1';
    }
  }
}

/** Removes a container that a killed run left, because two servers on one volume would destroy it. */
async function removeLeftover(volume: string): Promise<void> {
  const { container } = await getContainerRuntimeClient();
  for (const existing of await container.list()) {
    if (existing.Labels[label] !== volume) continue;
    await container.getById(existing.Id).remove({ force: true });
  }
}

async function launch(options: HostOptions, name: string): Promise<StartedTestContainer> {
  const { reporter, ports, kept } = options;
  const container = new LocalContainer(name)
    .withExposedPorts(...ports.map((port) => ({ container: port, host: port })))
    .withWaitStrategy(Wait.forSuccessfulCommand('true'));
  if (kept) {
    // A named volume works with every engine, even a remote one; a folder of this machine does not.
    const volume = `tock-${createHash('sha256').update(home()).digest('hex').slice(0, 12)}`;
    await removeLeftover(volume);
    container.withBindMounts([{ source: volume, target: folder }]).withLabels({ [label]: volume });
  }
  return reporter.step('Starting a Docker container', () => container.start());
}

/**
 * A Docker container as a host; null if its image is not available. If this process dies without closing the container,
 * the reaper of testcontainers ends it.
 */
export async function container(options: HostOptions): Promise<Host | null> {
  const { signal } = options;
  const major = options.postgres ?? 17;
  const name = await image(options.reporter, major);
  if (!name) return null;
  const started = await launch(options, name);
  const exec = (argv: string[]) => started.exec(argv, { user: 'postgres', workingDir: folder });
  const shell = (script: string, ...args: string[]) => exec(['sh', '-c', script, 'sh', ...args]);

  async function run(argv: string[]): Promise<string> {
    signal?.throwIfAborted();
    const { exitCode, output, stdout } = await exec(argv);
    if (exitCode !== 0)
      throw new Error(`${argv.join(' ')} ended with code ${exitCode}:\n${output}`);
    return stdout;
  }

  return {
    origin: 'in a Docker container',
    major,
    cron: true,
    bin: `/usr/lib/postgresql/${major}/bin`,
    pgbouncer: '/usr/sbin/pgbouncer',
    folder,
    listen: '*',
    local: false,
    ...(signal && { signal }),
    run,
    async start(argv, { log }) {
      const start = 'log=$1; shift; setsid "$@" > "$log" 2>&1 < /dev/null & echo $!';
      const pid = Number(await run(['sh', '-c', start, 'sh', log, ...argv]));
      const ended = exec(['tail', `--pid=${pid}`, '-f', '/dev/null']).then(
        () => {},
        () => {},
      );
      const send = async (name: string) =>
        void (await shell('kill -s "$1" "$2"', name.slice(3), `${pid}`));
      return { pid, ended, signal: send };
    },
    logged: async (log) => (await shell('tail -n 12 "$1"', log)).stdout,
    async read(path) {
      const { exitCode, stdout } = await exec(['cat', path]);
      return exitCode === 0 ? stdout : null;
    },
    write: async (path, text) =>
      void (await run(['sh', '-c', 'umask 077; printf %s "$2" > "$1"', 'sh', path, text])),
    remove: async (path) => void (await exec(['rm', '-rf', path])),
    // A container that was just created has no running processes.
    clear: async () => {},
    async kill9(pid) {
      const script = `all="$1 $(cat /proc/$1/task/$1/children)"; kill -9 $all
        for one in $all; do while kill -0 $one 2> /dev/null; do sleep 0.05; done; done`;
      await shell(script, String(pid));
    },
    close: async () => void (await started.stop()),
  };
}
