import { run } from '../../cli/program.ts';

// tock.ts starts this process. It runs one command after another, each as if in a process of its own.

type Asked = { args: string[]; env: NodeJS.ProcessEnv; cwd: string };

function caught(stream: NodeJS.WriteStream): string[] {
  const written: string[] = [];
  stream.write = ((text: string | Uint8Array, ...rest: unknown[]) => {
    written.push(typeof text === 'string' ? text : Buffer.from(text).toString());
    const done = rest.find((argument) => typeof argument === 'function') as
      | (() => void)
      | undefined;
    done?.();
    return true;
  }) as typeof stream.write;
  return written;
}

const out = caught(process.stdout);
const err = caught(process.stderr);

process.on('message', async ({ args, env, cwd }: Asked) => {
  process.chdir(cwd);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  const code = await run(args);
  process.send?.({ code, out: out.splice(0).join(''), err: err.splice(0).join('') });
});
process.on('disconnect', () => process.exit(0));
