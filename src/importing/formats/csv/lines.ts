import { splitLines } from '../split-lines.ts';

/** Longer lines are refused. A movement takes a few hundred characters. */
export const MAX_LINE_LENGTH = 64 * 1024;

export interface LineSplitter {
  /** The lines that `text` completes, without their ends; null for a line that is too long. */
  split(text: string): (string | null)[];
  /** The last line, if it has no end. */
  end(): (string | null)[];
}

/** Some banks end their lines with CR CR LF. */
const LINE_END = /\r\r\n|\r\n|\r|\n/;

const split = (text: string): string[] => (text.includes('\r\r\n') ? text.split(LINE_END) : splitLines(text));

/** Splits text at CR LF, LF or CR, whatever the parts in which it arrives. */
export function createLineSplitter(): LineSplitter {
  let carried = '';
  let isTooLong = false;
  /** CRs at the end of a part may be the first half of a line end. */
  let heldCrs = '';

  const carry = (text: string) => {
    isTooLong ||= carried.length + text.length > MAX_LINE_LENGTH;
    carried = isTooLong ? '' : carried + text;
  };
  const endLine = (): string | null => {
    const line = isTooLong ? null : carried;
    carried = '';
    isTooLong = false;
    return line;
  };

  return {
    split(text) {
      if (text === '') return [];
      const all = heldCrs + text;
      heldCrs = all.endsWith('\r\r') ? '\r\r' : all.endsWith('\r') ? '\r' : '';
      const rest = all.slice(0, all.length - heldCrs.length);
      const parts: (string | null)[] = split(rest);
      const last = parts.pop() ?? '';
      if (parts.length > 0) {
        carry(parts[0] ?? '');
        parts[0] = endLine();
      }
      for (let i = 1; i < parts.length; i += 1)
        if ((parts[i]?.length ?? 0) > MAX_LINE_LENGTH) parts[i] = null;
      carry(last ?? '');
      return parts;
    },
    end() {
      const hasLast = heldCrs !== '' || isTooLong || carried !== '';
      heldCrs = '';
      return hasLast ? [endLine()] : [];
    },
  };
}
