import { command } from './chaos/command.ts';

await command('torture', 60);
