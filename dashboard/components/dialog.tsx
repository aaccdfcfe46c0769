import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import type { Polled } from '../polling.ts';
import { PolledContent } from './panel.tsx';

/** A modal dialog. Escape closes it, and then the focus returns to where it was. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose(): void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    // Closing, which a mere removal is not, gives the focus back to where it was.
    return () => element?.close();
  }, []);
  // The browser says late that a dialog was closed. One that was removed must not close the dialog that is open by then.
  const closed = () => dialog.current && onClose();
  // Not left to the browser, which closes the dialog but says so only with its next picture. Until then a key would
  // still go to the hidden dialog, and the page would not know that it may open another.
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || event.isComposing || event.defaultPrevented) return;
    event.preventDefault();
    onClose();
  };
  return (
    <dialog ref={dialog} tabIndex={-1} aria-labelledby={id} onClose={closed} onKeyDown={onKeyDown}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

/** A dialog whose form is not loaded yet. */
export const LoadingDialog = ({
  polled,
  ...props
}: {
  title: string;
  polled: Polled<unknown>;
  onClose(): void;
}) => (
  <Dialog {...props}>
    <PolledContent polled={polled}>{() => null}</PolledContent>
  </Dialog>
);

/** A form in a dialog: its fields, the server's refusal, and the buttons. */
export function FormDialog({
  title,
  buttonLabel,
  refused,
  onSubmit,
  onClose,
  children,
}: {
  title: string;
  buttonLabel: string;
  refused: string | null;
  onSubmit(data: FormData): unknown;
  onClose(): void;
  children: ComponentChildren;
}) {
  const submit = (event: Event) => {
    event.preventDefault();
    void onSubmit(new FormData(event.currentTarget as HTMLFormElement));
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        {children}
        <div role="alert">{refused && <p class="problem">{refused}</p>}</div>
        <p class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="main">
            {buttonLabel}
          </button>
        </p>
      </form>
    </Dialog>
  );
}
