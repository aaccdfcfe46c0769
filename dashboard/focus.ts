/**
 * The element with the focus may go away, such as a button for tasks that are no longer there. Then the focus moves to
 * the open dialog, or to the heading of the page, so that the next Tab does not begin at the top.
 */
export function keepFocus(): () => void {
  let last: Element | null = null;
  const onFocus = ({ target }: Event) => {
    last = target as Element;
  };
  const observer = new MutationObserver(() => {
    if (last === null || last.isConnected || document.activeElement !== document.body) return;
    const place = document.querySelector<HTMLElement>('dialog[open]');
    (place ?? document.querySelector('h1'))?.focus({ preventScroll: true });
  });
  document.addEventListener('focusin', onFocus);
  observer.observe(document.body, { childList: true, subtree: true });
  return () => {
    document.removeEventListener('focusin', onFocus);
    observer.disconnect();
  };
}

/** Goes to a section of the page. The address has the page itself, so this is for buttons. */
export function goToSection(name: string): void {
  const headings = [...document.querySelectorAll<HTMLElement>('main h2')];
  const heading = headings.find(({ textContent }) => textContent === name);
  if (!heading) return;
  heading.tabIndex = -1;
  heading.focus();
  heading.scrollIntoView();
}
