/** Remembers the last answer of a function of one text: in statements, rows with the same date follow each other. */
export function rememberLast<T>(read: (text: string) => T): (text: string) => T {
  let last: { text: string; answer: T } | null = null;
  return (text) => {
    if (last === null || last.text !== text) last = { text, answer: read(text) };
    return last.answer;
  };
}
