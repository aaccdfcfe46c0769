import { readFileSync, writeFileSync } from 'node:fs';
import { basename, relative } from 'node:path';
import { softly } from '../scripts/stack/step_reporter.ts';
import { testCluster } from '../scripts/stack/test_cluster.ts';
import { groups } from './cases/index.ts';
import { chart } from './chart.ts';
import { alter, settings } from './cluster.ts';
import { install, isPackage } from './install.ts';
import { changed, machine, versions } from './machine.ts';
import { markdown } from './markdown.ts';
import { Mistake, type Options, optionsOf, usage, wants } from './options.ts';
import { page } from './page/page.ts';
import { type Report, table } from './report.ts';
import { makeRun } from './run.ts';
import { floor, more, systems } from './systems/index.ts';
import { warmUp } from './windows.ts';

// Measures Tock beside its peers. See bench/README.md.
const print = (text: string) => void process.stdout.write(`${text}\n`);
const clients = 8;

const errorMessage = (error: unknown) => (error instanceof Error ? error.message : String(error));

async function bench(options: Options): Promise<Report> {
  const { quick, seconds, rounds, only } = options;
  const packaged = options.systems.some(({ name }) => isPackage(name));
  if (packaged || options.chart) await install(print);
  const stack = await testCluster('bench', softly);
  let stopped = false;
  let cleanUps: (() => Promise<void>)[] = [];
  const cleanUp = async () => {
    const all = cleanUps;
    cleanUps = [];
    for (const one of all) await one();
  };
  const stop = (signal: NodeJS.Signals) => {
    if (stopped) return;
    stopped = true;
    print(`${signal}: stopping.`);
    void cleanUp()
      .finally(() => stack.close())
      .finally(() => process.exit(130));
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  try {
    await alter(stack, settings);
    const all = [...options.systems, floor];
    const report: Report = {
      date: new Date().toISOString(),
      command: options.command,
      machine: machine(),
      versions: await versions(stack),
      settings: {
        postgres: await changed(stack),
        windows: { seconds, warm_up: warmUp(seconds), rounds, clients },
        systems: Object.fromEntries(
          all.map(({ name, version, settings: how, lacks }) => [
            name,
            { version, settings: how, lacks },
          ]),
        ),
      },
      cases: [],
      seconds: {},
      left_out: options.leftOut,
      failures: [],
    };
    if (options.leftOut.length > 0) {
      print(`Left out because they are slow (--only ${options.leftOut.join(',')}).`);
    }
    for (const group of options.groups) {
      print(`- ${group.name} ...`);
      const started = performance.now();
      const choice = {
        quick,
        seconds,
        rounds,
        clients,
        systems: options.systems,
        floor,
        say: print,
        defer: (one: () => Promise<void>) => void cleanUps.push(one),
      };
      const run = makeRun(stack, { ...choice, wants: wants(only, group) }, report.failures);
      try {
        const cases = await group.run(run);
        report.cases.push(...cases.map((measuredCase) => ({ group: group.name, ...measuredCase })));
      } catch (error) {
        report.failures.push(`${group.name}: ${errorMessage(error)}`);
        if (!stopped) print(`  ${group.name} FAILED: ${errorMessage(error)}`);
      } finally {
        // stop() ends the process.
        if (stopped) await new Promise(() => {});
        await cleanUp();
      }
      const elapsed = Math.round((performance.now() - started) / 1000);
      report.seconds[group.name] = elapsed;
      print(`  ${elapsed} s`);
      // Writes the results so far, in case a later group fails.
      writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
    }
    return report;
  } finally {
    if (!stopped) await stack.close();
  }
}

try {
  const options = optionsOf(process.argv.slice(2), { groups, systems, more, floor });
  if (!options) {
    print(usage);
    process.exit(0);
  }
  const writeBeside = (what: string, ending: string, text: string, json = options.json) => {
    const file = `${json.replace(/\.json$/, '')}.${ending}`;
    writeFileSync(file, text);
    print(`${what}: ${relative('.', file)}`);
    return basename(file);
  };
  if (options.page) {
    const earlier: Report = JSON.parse(readFileSync(options.page, 'utf8'));
    writeBeside('Page to look at', 'html', page(earlier), options.page);
    process.exit(0);
  }
  const report = await bench(options);
  print(`\n${table(report)}\n`);
  print(`Figures: ${relative('.', options.json)}`);
  const svg = options.chart && (await chart(report));
  writeBeside('Page', 'md', markdown(report, svg ? writeBeside('Chart', 'svg', svg) : null));
  writeBeside('Page to look at', 'html', page(report));
  process.exit(report.failures.length > 0 ? 1 : 0);
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
  process.exit(error instanceof Mistake ? 2 : 1);
}
