/** What was found in the file, for a message: at most 40 characters. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > 40 ? `${text.slice(0, 39)}…` : text);
