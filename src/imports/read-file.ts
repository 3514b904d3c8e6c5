import type { StatementFormats } from '../statements/formats.ts';
import type { Recognition } from '../statements/read-files.ts';
import type { Row } from './rows.ts';
import { createRowReader, type FindAccount } from './statement-rows.ts';

/** How a file is to be read. */
export interface ReadOptions extends Recognition {
  formats: StatementFormats;
  findAccount: FindAccount;
}

/**
 * Reads a file of statements, packed or not, and yields its rows.
 * @throws {UnreadableFileError} when it cannot be read at all, or nothing in it is recognised.
 */
export async function* readStatementFile(
  parts: AsyncIterable<Uint8Array>,
  { formats, format, profile, findAccount }: ReadOptions,
): AsyncGenerator<Row[]> {
  let name: string | null = null;
  let readRows: ReturnType<typeof createRowReader> | null = null;
  for await (const it of formats.read(parts, { format, profile })) {
    if ('format' in it) {
      name = it.file;
      readRows = createRowReader(findAccount, it);
      continue;
    }
    const rows = (await readRows?.(it.events)) ?? [];
    const file = name;
    yield file === null ? rows : rows.map((row) => nameFile(row, file));
  }
}

/** Says in what the row tells people which file it is about. */
function nameFile(row: Row, fileName: string): Row {
  const within = (message: string) => `${fileName.slice(-80)}: ${message}`;
  if ('warning' in row) return { ...row, warning: within(row.warning) };
  return 'issue' in row && row.issue !== null ? { ...row, issue: within(row.issue) } : row;
}
