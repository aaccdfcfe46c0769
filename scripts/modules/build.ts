import { buildDashboard } from './dashboard.ts';
import { buildErrorPages } from './error_pages.ts';

/** Builds the modules that the Worker imports. They are not in the repository, so each command that needs them calls this first. */
export async function buildModules(): Promise<void> {
  buildErrorPages();
  await buildDashboard();
}

if (import.meta.main) await buildModules();
