import type { z } from '@hono/zod-openapi';
import { type FieldError, refusal } from './problem.ts';

const SHOWN = 10;

type Path = readonly PropertyKey[];

/** ['tasks', 3, 'priority'] -> tasks[3].priority */
function fieldOf(path: Path): string {
  const steps = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`));
  return steps.join('').replace(/^\./, '').slice(0, 200) || 'body';
}

/** How deep into a value a form of it fits. */
function depth(issues: z.core.$ZodIssue[]): number {
  const [first] = issues;
  return first ? 2 * first.path.length + Number(first.code !== 'invalid_type') : 0;
}

/** Of a union, what is wrong by the form that fits best. */
function nearest({ errors, path }: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue[] {
  const [best = []] = errors.toSorted((a, b) => depth(b) - depth(a));
  return best.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
}

function described(issue: z.core.$ZodIssue): FieldError[] {
  if (issue.code === 'invalid_union') return nearest(issue).flatMap(described);
  if (issue.code !== 'unrecognized_keys') {
    return [{ field: fieldOf(issue.path), detail: issue.message }];
  }
  return issue.keys.slice(0, SHOWN).map((key) => ({
    field: fieldOf([...issue.path, key]),
    detail: issue.message,
  }));
}

// A value may break two rules of its schema, which say the same of it.
function distinct(errors: FieldError[]): FieldError[] {
  const told = new Map(errors.map((error) => [`${error.field}: ${error.detail}`, error]));
  return [...told.values()].slice(0, SHOWN);
}

/** The input as its schema makes it, or a 422 that names what is wrong. */
export function validate<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const errors = distinct(result.error.issues.slice(0, 2 * SHOWN).flatMap(described));
  const [first] = errors;
  throw refusal(422, `${first?.field}: ${first?.detail}`, { field: first?.field, errors });
}
