import { command } from './chaos/command.ts';

await command('soak', 600);
