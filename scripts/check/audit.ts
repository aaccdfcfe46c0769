import { checkout } from '../stack/paths.ts';
import { attempt } from '../stack/run.ts';

/** Known advisories for the packages that users get, or why the registry gave none. */
export type Audited = { found: string[] } | { cannot: string };

// With these options npm gives up after 20 seconds if the registry does not answer.
const quick = ['--loglevel=silent', '--fetch-retries=0', '--fetch-timeout=20000'];

type AuditReport = {
  message?: string;
  error?: { summary?: string };
  vulnerabilities?: Record<string, { severity: string; range: string }>;
};

function parsed(output: string): AuditReport {
  try {
    return JSON.parse(output.slice(output.indexOf('{'), output.lastIndexOf('}') + 1));
  } catch {
    return {};
  }
}

/** Asks the registry for high and critical advisories. It is no failure if the registry does not offer advisories. */
export async function audit(options: string[] = []): Promise<Audited> {
  const argv = ['npm', 'audit', '--json', '--omit=dev', ...quick, ...options];
  const { output } = await attempt(argv, { cwd: checkout });
  const { vulnerabilities, message, error } = parsed(output);
  if (!vulnerabilities) {
    // The part after ` - ` names the registry's host, which must not be printed.
    const why = (message ?? error?.summary ?? 'it gave no answer').replace(/ - .*/s, '');
    return { cannot: `The registry returned no advisories: ${why}. Run: npm audit --omit=dev` };
  }
  const advisories = Object.entries(vulnerabilities)
    .filter(([, { severity }]) => /^(high|critical)$/.test(severity))
    .map(([name, { severity, range }]) => `${name} ${range}: ${severity}`);
  return { found: advisories };
}
