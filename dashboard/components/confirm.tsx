import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Dialog } from './dialog.tsx';

type Props = {
  title: string;
  children: ComponentChildren;
  /** The label of the button. */
  buttonLabel: string;
  danger?: boolean;
  /** A word that the user must type first, for actions that cannot be undone. */
  word?: string;
  onConfirm(): unknown;
  onClose(): void;
};

/** Asks before an action. Escape and Cancel close the dialog; then the focus returns to the button. */
export function Confirm({ title, children, buttonLabel, danger, word, onConfirm, onClose }: Props) {
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    await onConfirm();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        {children}
        {word && (
          <label>
            Type <strong>{word}</strong> to confirm
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
            {buttonLabel.startsWith('Cancel') ? 'Back' : 'Cancel'}
          </button>
          <button
            type="submit"
            class={danger ? 'danger' : 'main'}
            disabled={busy || (word !== undefined && typed !== word)}
          >
            {buttonLabel}
          </button>
        </p>
      </form>
    </Dialog>
  );
}

/** A button whose action must be confirmed. */
export function ConfirmButton({
  label,
  ...props
}: { label: ComponentChildren } & Omit<Props, 'onClose'>) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        aria-haspopup="dialog"
        class={props.danger ? 'danger' : ''}
        onClick={() => setOpen(true)}
      >
        {label}
      </button>
      {open && <Confirm {...props} onClose={() => setOpen(false)} />}
    </>
  );
}
