import { inWordsOf } from '../importing/advice.ts';

/**
 * The output of a command. Only the answer goes to standard output, so that it can be piped. What people read names options where the
 * API's messages name parameters.
 */
export interface Terminal {
  /** Prints the document on one line with --json, else the text. */
  answer(json: boolean | undefined, document: unknown, text: string): void;
  /** Prints progress or advice to standard error. */
  note(line: string): void;
}

type Sink = Pick<NodeJS.WritableStream, 'write'>;

export function createTerminal(output: Sink, errors: Sink): Terminal {
  return {
    answer(json, document, text) {
      output.write(`${json === true ? JSON.stringify(document) : inWordsOf('command line', text)}\n`);
    },
    note(line) {
      errors.write(`${inWordsOf('command line', line)}\n`);
    },
  };
}

/** Pads columns to their widest cell, two spaces apart. The columns whose indexes are in `right` are aligned to the right. */
export function renderTable(
  rows: readonly (readonly string[])[],
  { right = [] }: { right?: readonly number[] } = {},
): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, cell.length);
  }
  return rows.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0;
        return right.includes(column) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}
