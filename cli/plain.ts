const unseen = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

const escaped = (character: string) =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Text with control characters, but for lines and tabs, and those that turn the direction, as JSON escapes them: what
 * foreign_lock_holders have written moves no cursor and hides nothing. JSON means the same with it.
 */
export const visible = (text: string): string =>
  text.replace(unseen, (one) => (one === '\n' || one === '\t' ? one : escaped(one)));

/** The same for a part of a line. */
export const lockWaiting = (text: string): string => text.replace(unseen, escaped);
