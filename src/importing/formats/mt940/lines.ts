import { splitLines } from '../split-lines.ts';

/** A line of MT940 has 65 characters, but some banks write a whole :86: on one line. The limit keeps a line without an end from filling the memory. */
const MAX_LINE = 64 * 1024;

/**
 * Splits text that comes in parts into lines, which end with CRLF, LF or CR. Of a line that is longer than 64 Ki characters, what
 * is beyond is dropped.
 */
export function createLineReader() {
  let rest = '';
  let endsWithReturn = false;
  return {
    /** @returns the lines that this part completes */
    read(part: string): string[] {
      if (part === '') return [];
      // The LF of a CRLF that was cut in two.
      const text = endsWithReturn && part.startsWith('\n') ? part.slice(1) : part;
      endsWithReturn = part.endsWith('\r');
      const lines = splitLines(text);
      // Not before the split: it would copy the whole part.
      lines[0] = rest + lines[0];
      rest = (lines.pop() ?? '').slice(0, MAX_LINE);
      return lines;
    },
    /** @returns the last line if the text ends without a line end */
    end: (): string[] => (rest === '' ? [] : [rest]),
  };
}
