import { UnreadableFileError } from '../unreadable.ts';
import { type Cell, textOf } from './row.ts';
import { createDateReader, type DateFormat } from './values.ts';

/** Most rows that are held until one of them decides. Most files reach the 13th day of a month earlier. */
const MOST_ROWS = 100_000;

/** If a profile allows both, decides once for a file whether its dates begin with the day or the month. */
interface DateOrder {
  /**
   * Checks the date of a row.
   * @returns the formats of the file; null if they are not decided yet.
   * @throws {UnreadableFileError} when too many rows can be read in both ways.
   */
  note(line: number, cell: Cell | undefined): DateFormat[] | null;
  /**
   * @returns the formats, if no row can be read in both ways.
   * @throws {UnreadableFileError} with the two readings of a row.
   */
  end(): DateFormat[];
}

const swapped = (format: DateFormat): string =>
  format.replace(/DD|MM(?!M)/g, (part) => (part === 'DD' ? 'MM' : 'DD'));

/** @returns null: no two of the formats read the same text as two dates. */
export function createDateOrder(formats: DateFormat[]): DateOrder | null {
  const first = formats.find((it) => swapped(it) !== it && formats.some((other) => other === swapped(it)));
  const second = formats.find((it) => first !== undefined && it === swapped(first));
  if (first === undefined || second === undefined) return null;
  const readFirst = createDateReader([first]);
  const readSecond = createDateReader([second]);
  const without = (format: DateFormat) => formats.filter((it) => it !== format);
  let doubtful: { line: number; text: string; dates: [string, string] } | null = null;
  let rows = 0;

  const refuse = ({ line, text, dates }: NonNullable<typeof doubtful>) =>
    new UnreadableFileError(
      `The dates of the file can be read in two ways: "${text}" in line ${line} is ${dates[0]} as ${first}, and ${dates[1]} as ${second}. Send it with a profile that has one of the two.`,
    );

  return {
    note(line, cell) {
      const [one, other] = [readFirst(cell), readSecond(cell)];
      if (one !== null && other === null) return without(second);
      if (one === null && other !== null) return without(first);
      if (one !== null && other !== null && one !== other)
        doubtful ??= { line, text: textOf(cell).slice(0, 40), dates: [one, other] };
      rows += 1;
      if (rows === MOST_ROWS && doubtful !== null) throw refuse(doubtful);
      return null;
    },
    end() {
      if (doubtful !== null) throw refuse(doubtful);
      return formats;
    },
  };
}
