import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Refused } from '../api.ts';

/** A control with its label, and below it what the server says about its value. */
export function Field({
  label,
  error,
  children,
}: {
  label: string;
  error: string | null;
  children(attributes: object): ComponentChildren;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        ...(error && { 'aria-invalid': 'true', 'aria-describedby': `${id}-error` }),
      })}
      {error && (
        <p class="problem" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

/** What a refusal says about a field and its parts, such as headers.a. */
export function errorOf(refused: Refused | null, isOfField: (name: string) => boolean) {
  if (!refused) return null;
  const { errors, field } = refused.problem;
  const all = errors ?? (field ? [{ field, detail: refused.message }] : []);
  const texts = all
    .filter((error) => isOfField(error.field.split(/[.[]/)[0] ?? ''))
    .map((error) => (/[.[]/.test(error.field) ? `${error.field}: ${error.detail}` : error.detail));
  return texts.join('; ') || null;
}
