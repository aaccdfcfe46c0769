import { buildDashboard } from './dashboard.ts';
import { buildPages } from './pages.ts';

/** Builds the modules that the Worker imports. They are not in the repository, so each command that needs them calls this first. */
export async function buildModules(): Promise<void> {
  buildPages();
  await buildDashboard();
}

if (import.meta.main) await buildModules();
