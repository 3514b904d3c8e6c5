/** Removes control characters, because text from the network must not move the terminal's cursor or change its colours. */
export const oneLine = (text: string): string => text.replace(/\p{Cc}+/gu, ' ').trim();
