import type { StandardSchemaV1 } from '@standard-schema/spec';
import { Fatal } from '../../client/errors.ts';

/** Of hundreds of issues the first say enough. */
const MOST_ISSUES = 5;

/** Like `payload.items[0].price`. */
function pathOf({ path = [] }: StandardSchemaV1.Issue): string {
  const keys = path.map((part) => (typeof part === 'object' ? part.key : part));
  return `payload${keys.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')}`;
}

/** What a schema makes of a payload; throws a Fatal that names where it doesn't fit. */
export async function fitting<S extends StandardSchemaV1>(
  schema: S,
  payload: unknown,
): Promise<StandardSchemaV1.InferOutput<S>> {
  const checked = await schema['~standard'].validate(payload);
  if (!checked.issues) return checked.value as StandardSchemaV1.InferOutput<S>;
  const said = checked.issues
    .slice(0, MOST_ISSUES)
    .map((issue) => `${pathOf(issue)}: ${issue.message}`);
  throw new Fatal(said.join('; '));
}
