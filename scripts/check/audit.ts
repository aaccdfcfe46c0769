import { checkout } from '../stack/place.ts';
import { attempt } from '../stack/run.ts';

/** What is known against the packages that users get, or why that can't be asked here. */
export type Audited = { found: string[] } | { cannot: string };

// A machine without a registry waits no longer for it.
const quick = ['--loglevel=silent', '--fetch-retries=0', '--fetch-timeout=20000'];

type Said = {
  message?: string;
  error?: { summary?: string };
  vulnerabilities?: Record<string, { severity: string; range: string }>;
};

function parsed(out: string): Said {
  try {
    return JSON.parse(out.slice(out.indexOf('{'), out.lastIndexOf('}') + 1));
  } catch {
    return {};
  }
}

/** Asks the registry for high and critical advisories; a registry that has none to give is no failure. */
export async function audit(options: string[] = []): Promise<Audited> {
  const argv = ['npm', 'audit', '--json', '--omit=dev', ...quick, ...options];
  const { out } = await attempt(argv, { cwd: checkout });
  const { vulnerabilities, message, error } = parsed(out);
  if (!vulnerabilities) {
    // Its reason names a host, which is nobody's here.
    const why = (message ?? error?.summary ?? 'it gave no answer').replace(/ - .*/s, '');
    return { cannot: `The registry tells no advisories: ${why}. Run: npm audit --omit=dev` };
  }
  const found = Object.entries(vulnerabilities)
    .filter(([, { severity }]) => /^(high|critical)$/.test(severity))
    .map(([name, { severity, range }]) => `${name} ${range}: ${severity}`);
  return { found };
}
