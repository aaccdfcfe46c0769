import type { StandardSchemaV1 } from '@standard-schema/spec';
import { Fatal } from '../../client/errors.ts';

/** An error names the first issues; a payload may have hundreds. */
const MAX_ISSUES = 5;

/** The path of an issue, like `payload.items[0].price`. */
function pathOf({ path = [] }: StandardSchemaV1.Issue): string {
  const keys = path.map((part) => (typeof part === 'object' ? part.key : part));
  return `payload${keys.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')}`;
}

/** The parsed payload; throws a Fatal that names the invalid fields. */
export async function parsePayload<S extends StandardSchemaV1>(
  schema: S,
  payload: unknown,
): Promise<StandardSchemaV1.InferOutput<S>> {
  const checked = await schema['~standard'].validate(payload);
  if (!checked.issues) return checked.value as StandardSchemaV1.InferOutput<S>;
  const messages = checked.issues
    .slice(0, MAX_ISSUES)
    .map((issue) => `${pathOf(issue)}: ${issue.message}`);
  throw new Fatal(messages.join('; '));
}
