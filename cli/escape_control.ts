const unseen = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

const escaped = (character: string) =>
  `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Escapes control characters, except newlines and tabs, and characters that change the text direction, in the form of
 * JSON. Data of other users can then not move the cursor or hide text. JSON keeps its meaning.
 */
export const visible = (text: string): string =>
  text.replace(unseen, (character) =>
    character === '\n' || character === '\t' ? character : escaped(character),
  );

/** The same for text within a line. */
export const visibleLine = (text: string): string => text.replace(unseen, escaped);
