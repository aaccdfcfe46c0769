import { useState } from 'preact/hooks';
import { Dialog } from '../components/dialog.tsx';
import { CopyButton, Empty } from '../components/empty.tsx';
import { type Key, KeyActions } from '../components/key_actions.tsx';
import { NewKey } from '../components/new_key.tsx';
import { PolledContent } from '../components/panel.tsx';
import { Table } from '../components/table.tsx';
import { Ago, Updated } from '../components/times.tsx';
import { usePolling } from '../polling.ts';
import { href } from '../route.ts';
import { useMay, useSession } from '../session.tsx';

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

const valid = (keys: Key[]) => keys.filter(({ revoked_at }) => !revoked_at);

/** The keys. An administrator creates, rotates and revokes them. */
export function Keys() {
  const may = useMay();
  const { keyInfo } = useSession();
  const polled = usePolling('GET /v1/keys', {}, 30_000);
  const [creating, setCreating] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const made = (key: string) => {
    setSecret(key);
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
                      <>
                        <a href={href(['audit_log'], { key: prefix })}>
                          <code>{prefix}</code>
                        </a>{' '}
                        {prefix === keyInfo.prefix && <span class="hint">the key of this tab</span>}
                      </>
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
                          show: (row: Key) => <KeyActions row={row} onMade={made} />,
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
