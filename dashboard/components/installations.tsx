import { usePolling } from '../polling.ts';
import { useSession } from '../session.tsx';

/** The name of this installation; with TOCK_INSTALLATIONS a list to go to the same page of another one. */
export function Installations({ page }: { page: string }) {
  const { keyInfo } = useSession();
  const { data } = usePolling('GET /v1/links', keyInfo.tenants ? null : {}, 3_600_000);
  const others = data?.installations ?? [];
  const name = keyInfo.installation ?? (others.length > 0 ? 'This installation' : null);
  if (!name) return null;
  if (others.length === 0) return <strong class="installation">{name}</strong>;
  return (
    <select
      class="installation"
      aria-label="Installation"
      value=""
      onChange={({ currentTarget }) => {
        location.href = `${currentTarget.value}#/${page}`;
      }}
    >
      <option value="">{name}</option>
      {others.map((other) => (
        <option key={other.url} value={other.url}>
          {other.name}
        </option>
      ))}
    </select>
  );
}
