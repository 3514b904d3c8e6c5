import { splitLines } from '../split-lines.ts';

/** A record of BAI2 usually has 80 characters, and banks that write a whole text into one have some hundred. */
const MAX_LINE = 64 * 1024;

export interface Line {
  line: number;
  text: string;
  /** The line ends with a line end, and not with the file. */
  isEnded: boolean;
  /** What lies between 64 Ki characters and the line end is missing. */
  isCut: boolean;
}

/**
 * Splits text that comes in any split into lines, which end with CRLF, LF or CR. Blank lines are left out.
 * @param splitLong what a line of more than 64 Ki characters can be split into. All but the last piece count as lines, so that a file
 *   may be one line.
 */
export function createLineReader(splitLong: (text: string) => string[]) {
  let rest = '';
  let line = 1;
  let isSkipping = false;
  let endsWithReturn = false;
  const lines: Line[] = [];

  const add = (text: string, isEnded: boolean) => {
    if (text.trim() !== '') lines.push({ line, text, isEnded, isCut: isSkipping });
  };
  const grow = (text: string) => {
    if (isSkipping) return;
    rest += text;
    if (rest.length <= MAX_LINE) return;
    const pieces = splitLong(rest);
    rest = pieces.pop() ?? '';
    for (const piece of pieces) add(piece, true);
    if (rest.length <= MAX_LINE) return;
    rest = rest.slice(0, MAX_LINE);
    isSkipping = true;
  };

  return {
    read(part: string): Line[] {
      if (part === '') return [];
      lines.length = 0;
      // The LF of a CRLF that was cut in two.
      const text = endsWithReturn && part.startsWith('\n') ? part.slice(1) : part;
      endsWithReturn = part.endsWith('\r');
      const pieces = splitLines(text);
      for (const [index, piece] of pieces.entries()) {
        grow(piece);
        if (index === pieces.length - 1) break;
        add(rest, true);
        rest = '';
        isSkipping = false;
        line += 1;
      }
      return [...lines];
    },
    /** @returns the last line if the text ends without a line end */
    end(): Line[] {
      lines.length = 0;
      add(rest, false);
      return [...lines];
    },
  };
}
