import { useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { useAction } from '../notifications.tsx';
import { useSession } from '../session.tsx';
import { ConfirmButton } from './confirm.tsx';

export type Key = Answer<'GET /v1/keys'>['keys'][number];

const DAY = 86_400;

/** When a replaced key ends, in seconds, and in words. */
const overlaps = [
  [0, 'at once'],
  [3600, 'in an hour'],
  [DAY, 'in a day'],
  [7 * DAY, 'in 7 days'],
  [31 * DAY, 'in 31 days'],
] as const;

type Props = { row: Key; onMade(secret: string): void };

function Rotate({ row: { name, prefix }, onMade }: Props) {
  const action = useAction();
  const isOwn = useSession().keyInfo.prefix === prefix;
  const [seconds, setSeconds] = useState(DAY);
  const words = overlaps.find(([value]) => value === seconds)?.[1];
  const rotate = async () => {
    const input = { path: { prefix }, body: { overlap_seconds: seconds } };
    const message = `${name} has a new key. The old one ends ${words}.`;
    const answer = await action('POST /v1/keys/{prefix}/rotate', input, message);
    if (answer) onMade(answer.key);
  };
  return (
    <ConfirmButton
      label={
        <>
          Rotate<span class="hidden"> {prefix}</span>
        </>
      }
      title={`Rotate the key ${name}?`}
      buttonLabel="Rotate"
      onConfirm={rotate}
    >
      <p>A new key with the same rights is shown once.</p>
      <label>
        The old key ends
        <select
          value={seconds}
          onChange={({ currentTarget }) => setSeconds(Number(currentTarget.value))}
        >
          {overlaps
            // At once, this tab would be signed out before it has shown the new key.
            .filter(([value]) => value > 0 || !isOwn)
            .map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
        </select>
      </label>
      <p class="hint">Until then both work. Revoke ends the old one earlier.</p>
      {isOwn && (
        <p class="late">
          This tab is signed in with the old key. Sign in with the new one before the old one ends.
        </p>
      )}
    </ConfirmButton>
  );
}

/** What an administrator may do with a key. A key that another one replaces can still be revoked. */
export function KeyActions(props: Props) {
  const { name, prefix, replaced_by, revoked_at } = props.row;
  const action = useAction();
  const isOwn = useSession().keyInfo.prefix === prefix;
  if (revoked_at) return null;
  const revoke = async () => {
    const message = `The key ${prefix} is revoked.`;
    await action('DELETE /v1/keys/{prefix}', { path: { prefix } }, message);
  };
  return (
    <span class="buttons">
      {replaced_by ? <span class="hint">replaced by {replaced_by}</span> : <Rotate {...props} />}
      <ConfirmButton
        danger
        label={
          <>
            Revoke<span class="hidden"> {prefix}</span>
          </>
        }
        title={`Revoke the key ${name}?`}
        buttonLabel="Revoke"
        word={prefix}
        onConfirm={revoke}
      >
        <p>Calls with it are refused from now on. This cannot be undone.</p>
        {isOwn && (
          <p class="late">
            This tab is signed in with it, and is signed out. Have another key with the scope admin
            at hand.
          </p>
        )}
      </ConfirmButton>
    </span>
  );
}
