/**
 * Splits a record into its fields (RFC 4180). Spaces around a quoted field are ignored.
 * @param isStrict whether a quotation mark may stand only around a field, and twice within one. Otherwise others stand for themselves.
 * @returns null if a quotation mark is not closed or, with `isStrict`, is where it may not be.
 */
export function splitFields(
  text: string,
  { delimiter, quote, isStrict }: { delimiter: string; quote: string; isStrict: boolean },
): string[] | null {
  const fields: string[] = [];
  let at = 0;
  for (;;) {
    const start = skipSpaces(text, at);
    let end: number;
    if (text[start] === quote) {
      const close = findClose(text, start + 1, { delimiter, quote, isStrict });
      if (close === -1) return null;
      fields.push(text.slice(start + 1, close).replaceAll(quote + quote, quote));
      end = skipSpaces(text, close + 1);
    } else {
      end = text.indexOf(delimiter, at);
      if (end === -1) end = text.length;
      const field = text.slice(at, end);
      if (isStrict && field.includes(quote)) return null;
      fields.push(field);
    }
    if (end === text.length) return fields;
    at = end + 1;
  }
}

/** The position of the quotation mark that closes a field; -1 if there is none, or, with `isStrict`, another one comes before. */
function findClose(
  text: string,
  from: number,
  { delimiter, quote, isStrict }: { delimiter: string; quote: string; isStrict: boolean },
): number {
  let at = from;
  for (;;) {
    const close = text.indexOf(quote, at);
    if (close === -1) return -1;
    const next = skipSpaces(text, close + 1);
    if (text[close + 1] === quote) at = close + 2;
    else if (next === text.length || text[next] === delimiter) return close;
    else if (isStrict) return -1;
    else at = close + 1;
  }
}

function skipSpaces(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ') at += 1;
  return at;
}
