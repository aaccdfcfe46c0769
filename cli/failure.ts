export { type ExitCode, Failure } from '../migrate/failure.ts';
