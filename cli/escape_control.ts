const unseen = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

const escaped = (character: string) =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Escapes control characters, except newlines and tabs, and characters that change the text direction, so that data of
 * other users cannot move the cursor or hide text. The escapes are those of JSON, so JSON keeps its meaning.
 */
export const visible = (text: string): string =>
  text.replace(unseen, (character) =>
    character === '\n' || character === '\t' ? character : escaped(character),
  );

/** Like visible(), for text within a line: escapes newlines and tabs too. */
export const visibleLine = (text: string): string => text.replace(unseen, escaped);
