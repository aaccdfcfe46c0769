import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';

type Props = {
  title: string;
  children: ComponentChildren;
  /** What the button says. */
  go: string;
  danger?: boolean;
  /** To be typed first, where what follows can't be undone. */
  word?: string;
  onGo(): unknown;
  onClose(): void;
};

/** Asks before something is done; Escape and Cancel do nothing, and the focus returns. */
export function Confirm({ title, children, go, danger, word, onGo, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    await onGo();
    onClose();
  };
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
      <form onSubmit={submit}>
        <h2 id={id}>{title}</h2>
        {children}
        {word && (
          <label>
            Type <strong>{word}</strong> to go on
            <input
              value={typed}
              autocomplete="off"
              spellcheck={false}
              onInput={({ currentTarget }) => setTyped(currentTarget.value)}
            />
          </label>
        )}
        <p class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class={danger ? 'danger' : 'main'}
            disabled={busy || (word !== undefined && typed !== word)}
          >
            {go}
          </button>
        </p>
      </form>
    </dialog>
  );
}

/** A button whose deed is confirmed first. */
export function Asked({ label, ...props }: { label: string } & Omit<Props, 'onClose'>) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" class={props.danger ? 'danger' : ''} onClick={() => setOpen(true)}>
        {label}
      </button>
      {open && <Confirm {...props} onClose={() => setOpen(false)} />}
    </>
  );
}
