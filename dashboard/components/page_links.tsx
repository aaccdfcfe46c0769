import { href } from '../route.ts';

/** The links below a list that the address pages through, newest first. */
export function PageLinks({
  page,
  filter,
  before,
  next,
}: {
  page: string;
  filter: Record<string, string | undefined>;
  /** Where this page begins; undefined on the first one. */
  before: string | undefined;
  /** Where the next page begins; undefined on the last one. */
  next: string | undefined;
}) {
  return (
    <p class="buttons">
      {before && (
        <a class="button" href={href([page], filter)}>
          First page
        </a>
      )}
      {next && (
        <a class="button" href={href([page], { ...filter, before: next })}>
          Next page
        </a>
      )}
    </p>
  );
}
