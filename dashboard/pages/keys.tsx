import { useState } from 'preact/hooks';
import type { Answer } from '../../client/wire.ts';
import { call, Refused } from '../api.ts';
import { ConfirmButton } from '../components/confirm.tsx';
import { Dialog, FormDialog } from '../components/dialog.tsx';
import { CopyButton, Empty } from '../components/empty.tsx';
import { PolledContent } from '../components/panel.tsx';
import { Table } from '../components/table.tsx';
import { Ago, Updated } from '../components/times.tsx';
import { sentences, useAction } from '../notifications.tsx';
import { usePolling } from '../polling.ts';
import { href } from '../route.ts';
import { useMay, useSession } from '../session.tsx';

type Key = Answer<'GET /v1/keys'>['keys'][number];

const scopes = ['enqueue', 'claim', 'read', 'admin'] as const;
const DAY = 86_400;

/** Words separated by commas; null if there are none. */
const listOf = (text: string) => {
  const words = text.split(',').map((word) => word.trim());
  const named = words.filter((word) => word !== '');
  return named.length > 0 ? named : null;
};

/** A new key with its secret, which is shown only now. */
function Secret({ secret, onClose }: { secret: string; onClose(): void }) {
  return (
    <Dialog title="The new key" onClose={onClose}>
      <p>
        <code class="secret">{secret}</code>
      </p>
      <p class="hint">Copy it now: it is not shown again.</p>
      <p class="buttons">
        <CopyButton text={secret} />
        <button type="button" class="main" onClick={onClose}>
          Close
        </button>
      </p>
    </Dialog>
  );
}

function NewKey({ onClose, onMade }: { onClose(): void; onMade(secret: string): void }) {
  const { key } = useSession();
  const [refused, setRefused] = useState<string | null>(null);
  const submit = async (data: FormData) => {
    const days = Number(data.get('days'));
    const body = {
      name: String(data.get('name')),
      scopes: data.getAll('scope').map(String),
      queues: listOf(String(data.get('queues'))),
      tenants: listOf(String(data.get('tenants'))),
      ...(days > 0 && { expires_in_seconds: days * DAY }),
    };
    try {
      onMade((await call(key, 'POST /v1/keys', { body })).key);
      onClose();
    } catch (error) {
      setRefused(error instanceof Refused ? sentences(error) : String(error));
    }
  };
  return (
    <FormDialog
      title="New key"
      buttonLabel="Create"
      refused={refused}
      onSubmit={submit}
      onClose={onClose}
    >
      <label>
        Name
        <input name="name" required />
      </label>
      <fieldset>
        <legend>It may</legend>
        {scopes.map((scope) => (
          <label key={scope} class="check">
            <input type="checkbox" name="scope" value={scope} /> {scope}
          </label>
        ))}
      </fieldset>
      <label>
        Queues, separated by commas (empty: all)
        <input name="queues" />
      </label>
      <label>
        Tenants, separated by commas (empty: all)
        <input name="tenants" />
      </label>
      <label>
        Ends after days (empty: never)
        <input name="days" type="number" min="1" />
      </label>
    </FormDialog>
  );
}

function Actions({
  row,
  onMade,
  onDone,
}: {
  row: Key;
  onMade(secret: string): void;
  onDone(): void;
}) {
  const action = useAction();
  const path = { prefix: row.prefix };
  if (row.replaced_by) return <span class="hint">replaced by {row.replaced_by}</span>;
  if (row.revoked_at) return null;
  const rotate = async () => {
    const body = { overlap_seconds: DAY };
    const message = `${row.name} has a new key. The old one ends in a day.`;
    const answer = await action('POST /v1/keys/{prefix}/rotate', { path, body }, message);
    if (answer) onMade(answer.key);
    onDone();
  };
  const revoke = async () => {
    await action('DELETE /v1/keys/{prefix}', { path }, `The key ${row.prefix} is revoked.`);
    onDone();
  };
  return (
    <span class="buttons">
      <ConfirmButton
        label={
          <>
            Rotate<span class="hidden"> {row.prefix}</span>
          </>
        }
        title={`Rotate the key ${row.name}?`}
        buttonLabel="Rotate"
        onConfirm={rotate}
      >
        <p>A new key with the same rights is shown once. The old one ends in a day.</p>
      </ConfirmButton>
      <ConfirmButton
        danger
        label={
          <>
            Revoke<span class="hidden"> {row.prefix}</span>
          </>
        }
        title={`Revoke the key ${row.name}?`}
        buttonLabel="Revoke"
        word={row.prefix}
        onConfirm={revoke}
      >
        <p>Calls with it are refused from now on. This cannot be undone.</p>
      </ConfirmButton>
    </span>
  );
}

const valid = (keys: Key[]) => keys.filter(({ revoked_at }) => !revoked_at);

/** The keys. An administrator creates, rotates and revokes them. */
export function Keys() {
  const may = useMay();
  const polled = usePolling('GET /v1/keys', {}, 30_000);
  const [creating, setCreating] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const made = (key: string) => {
    setSecret(key);
    polled.refresh();
  };
  return (
    <>
      <div class="heading">
        <h1 tabIndex={-1}>Keys</h1>
        <Updated at={polled.at} />
        {may('admin') && (
          <button
            type="button"
            aria-haspopup="dialog"
            class="main"
            onClick={() => setCreating(true)}
          >
            New key
          </button>
        )}
      </div>
      <p class="lead">
        A key may do what its scopes say, for its queues and tenants. Tock stores only a hash of it,
        so a lost key is replaced by a new one.
      </p>
      {creating && <NewKey onClose={() => setCreating(false)} onMade={made} />}
      {secret && <Secret secret={secret} onClose={() => setSecret(null)} />}
      <section class="panel" aria-label="Keys">
        <PolledContent polled={polled}>
          {({ keys }) => (
            <>
              <Table
                stacked
                label="Keys"
                rows={valid(keys).slice(0, 100)}
                id={({ prefix }) => prefix}
                emptyText="There is no key."
                columns={[
                  {
                    name: 'Key',
                    show: ({ prefix }) => (
                      <a href={href(['audit_log'], { key: prefix })}>
                        <code>{prefix}</code>
                      </a>
                    ),
                  },
                  { name: 'Name', show: ({ name }) => name },
                  { name: 'May', show: (key) => key.scopes.join(', ') },
                  { name: 'Queues', show: ({ queues }) => queues?.join(', ') ?? 'all' },
                  { name: 'Tenants', show: ({ tenants }) => tenants?.join(', ') ?? 'all' },
                  { name: 'Last used', show: ({ last_used_at }) => <Ago at={last_used_at} /> },
                  { name: 'Expires', show: ({ expires_at }) => <Ago at={expires_at} /> },
                  ...(may('admin')
                    ? [
                        {
                          name: 'Actions',
                          show: (row: Key) => (
                            <Actions row={row} onMade={made} onDone={polled.refresh} />
                          ),
                        },
                      ]
                    : []),
                ]}
              />
              {valid(keys).length < 2 && (
                <Empty command="tock key create my-app --scope enqueue,read">
                  Give each program a key of its own, with the scopes that it needs:
                </Empty>
              )}
            </>
          )}
        </PolledContent>
      </section>
    </>
  );
}
