import type { z } from '@hono/zod-openapi';
import { type FieldError, refusal } from './problem.ts';

const MAX_ERRORS = 10;

type Path = readonly PropertyKey[];

/** ['tasks', 3, 'priority'] -> tasks[3].priority */
function fieldOf(path: Path): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`));
  return steps.join('').replace(/^\./, '').slice(0, 200) || 'body';
}

/** How well a schema of the union fits the value: the deeper its first issue, the better. */
function fitDepth(issues: z.core.$ZodIssue[]): number {
  const [first] = issues;
  return first ? 2 * first.path.length + Number(first.code !== 'invalid_type') : 0;
}

/** The issues of the union's schema that fits best. */
function bestFit({ errors, path }: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue[] {
  const [best = []] = errors.toSorted((a, b) => fitDepth(b) - fitDepth(a));
  return best.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
}

function toFieldErrors(issue: z.core.$ZodIssue): FieldError[] {
  if (issue.code === 'invalid_union') return bestFit(issue).flatMap(toFieldErrors);
  if (issue.code !== 'unrecognized_keys') {
    return [{ field: fieldOf(issue.path), detail: issue.message }];
  }
  return issue.keys.slice(0, MAX_ERRORS).map((key) => ({
    field: fieldOf([...issue.path, key]),
    detail: issue.message,
  }));
}

// A value may break two rules of its schema with the same message.
function distinct(errors: FieldError[]): FieldError[] {
  const byMessage = new Map(errors.map((error) => [`${error.field}: ${error.detail}`, error]));
  return [...byMessage.values()].slice(0, MAX_ERRORS);
}

/** The parsed input, or a 422 that names the invalid fields. */
export function validate<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const errors = distinct(result.error.issues.slice(0, 2 * MAX_ERRORS).flatMap(toFieldErrors));
  const [first] = errors;
  throw refusal(422, `${first?.field}: ${first?.detail}`, { field: first?.field, errors });
}
