import { squeeze } from '../../white-space.ts';

/** A line of :86: has 65 characters, a sub-field 27. */
export const LINE_WIDTH = 65;
export const SUB_FIELD_WIDTH = 27;

/** What the text beside an entry says. */
export interface Details {
  description: string | null;
  name: string | null;
  opponentId: string | null;
  opponentIban: string | null;
}

export const NO_DETAILS: Details = { description: null, name: null, opponentId: null, opponentIban: null };

/** Without blanks at its ends, with one blank where there were several; null if nothing is left. */
export const tidy = (text: string): string | null => squeeze(text) || null;

/**
 * Joins what was wrapped at a width. A full part was cut in the middle, perhaps of a word. Between shorter ones there was a blank, which
 * many banks drop at the end of a line.
 */
export function joinWrapped(parts: readonly string[], width: number): string {
  const last = parts.length - 1;
  let text = '';
  for (let index = 0; index <= last; index += 1) {
    const part = parts[index] as string;
    text += part.length < width && index < last ? `${part} ` : part;
  }
  return text;
}
